"""Token vectors of a text as bytes: what retrieval stores at ingestion, and the reranker compares with a question.

Their layout is that of `vector_layout`. One byte a dimension with a scale a vector: MaxSim orders passages as it did
with half floats, which would take twice the service (docs/adr/0008-embedding-engines.md).
"""

import hashlib
import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from citemesh.models.manifest import sha256_of
from citemesh.models.prepared import PreparedModel
from citemesh.models.tokens.vector_layout import HEADER, MOST_DIMENSIONS, MOST_TOKENS, VERSION, header, measures

__all__ = ["CONTEXT_VERSION", "MOST_DIMENSIONS", "MOST_TOKENS", "StoredVectors", "digest_of", "pack", "unpack"]

CONTEXT_VERSION = 2
"""Changes whenever the same chunk would be embedded as another text. Version 2: under its title, if it has one, and
headings."""

Floats = NDArray[np.float32]
Places = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """Unpacked vectors, still as codes.

    places: last code point of each token in the text, [tokens]. codes: [tokens, dimensions]. scales: [tokens].
    """

    places: Places
    codes: NDArray[np.int8]
    scales: NDArray[np.float16]

    @property
    def vectors(self) -> Floats:
        """Vectors of length one, but for rounding: [tokens, dimensions]. Made anew at every call."""
        return self.codes * self.scales.astype(np.float32)[:, None]


def pack(characters: int, places: NDArray[np.integer], vectors: Floats) -> bytes:
    """Bytes of a text's token vectors.

    Args:
        characters: length of the text in code points.
        places: last code point of each token in the text, never descending, [tokens].
        vectors: of length one, [tokens, 1 to 128].

    Raises ValueError where the shapes are others.
    """
    count, dimensions = vectors.shape
    if len(places) != count or not 1 <= dimensions <= MOST_DIMENSIONS or count > MOST_TOKENS:
        raise ValueError(f"{len(places)} places and vectors of shape {vectors.shape}")
    # The scale is rounded before the codes are made with it, upwards, so that no code passes 127.
    exact = np.abs(vectors).max(axis=1, initial=0) / 127
    scales = np.nextafter(exact.astype(np.float16), np.float16(np.inf))
    codes = np.rint(vectors / scales.astype(np.float32)[:, None]).astype(np.int8)
    head = header(dimensions, count, characters)
    return b"".join(
        (head, places.astype("<u4").tobytes(), scales.astype("<f2").tobytes(), np.ascontiguousarray(codes).tobytes())
    )


def unpack(packed: bytes, characters: int) -> StoredVectors:
    """The vectors in the bytes, which may come from anywhere; nothing is copied.

    Args:
        characters: length of the text that they belong to.

    Raises ValueError that says what is wrong with the bytes.
    """
    dimensions, count, length = measures(packed)
    if length != characters:
        raise ValueError(f"it is of a text of {length} characters, and this one has {characters}")
    start = HEADER.size
    places = np.frombuffer(packed, "<u4", count, start)
    scales = np.frombuffer(packed, "<f2", count, start + 4 * count)
    codes = np.frombuffer(packed, np.int8, count * dimensions, start + 6 * count).reshape(count, dimensions)
    if count and (int(places[-1]) >= characters or bool((places[1:] < places[:-1]).any())):
        raise ValueError("its places are not in the text, or out of order")
    if not bool((np.isfinite(scales) & (scales >= 0)).all()):
        raise ValueError("a scale is negative or not finite")
    return StoredVectors(places, codes, scales)


def digest_of(model: PreparedModel, layers: int = 0) -> str:
    """Hash of all that decides token vectors, but for the rounding; 64 lowercase hex digits.

    Args:
        layers: how many of the model's layers they come from, from the first; 0: all, which alone are projected.
    """
    projected = model.late_projection.is_file() and not layers
    projection = sha256_of(model.late_projection) if projected else ""
    decides = ["token-vectors", model.digest, layers, projection, model.query_prefix, model.passage_prefix]
    return hashlib.sha256(json.dumps([*decides, CONTEXT_VERSION, VERSION]).encode()).hexdigest()
