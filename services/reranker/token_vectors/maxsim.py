"""Late interaction: every token of a query looks for the token of a passage that is nearest to it.

Khattab & Zaharia, ColBERT (2020), with each query token weighted.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Vectors = NDArray[np.float16]
Ints = NDArray[np.int64]


def nearest(query: Floats, tokens: Floats, starts: Ints, ends: Ints) -> Floats:
    """Returns the highest cosine of each query token within each segment: [query tokens, segments]; 0 in an empty one.

    Args:
        query: unit vectors, [query tokens, dimensions].
        tokens: unit vectors of all segments one after the other, [tokens, dimensions].
        starts, ends: first token of each segment, ascending, and one past its last: [segments].
    """
    filled = ends > starts
    best = np.zeros((len(query), len(starts)), np.float32)
    if filled.any():
        # reduceat runs up to the next start: without the empty segments, that is the segment's end or gaps beyond it.
        best[:, filled] = np.maximum.reduceat(query @ tokens.T, starts[filled], axis=1)
    return best


def maxsim(query: Floats, weights: Floats, passages: Sequence[Vectors | Floats]) -> Floats:
    """Returns the weighted mean of the highest cosines of each passage: [passages], -1 to 1."""
    ends = np.cumsum([len(passage) for passage in passages], dtype=np.int64)
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    tokens = np.concatenate(passages).astype(np.float32, copy=False)
    best = nearest(query, tokens, starts, ends)
    return np.asarray(weights @ best / max(float(weights.sum()), 1e-6), np.float32)
