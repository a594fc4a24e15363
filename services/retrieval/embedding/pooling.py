"""From a model's last hidden states to vectors: of the text, and of its tokens for late interaction."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citemesh.models import Pooling, PreparedModel
from citemesh.models.tokens.token_vectors import MOST_DIMENSIONS, digest_of, pack
from services.retrieval.embedding.encoder import CONTEXT_VERSION, ChunkTokens
from services.retrieval.types.chunk import Vector
from services.retrieval.types.collection import Embedding

States = NDArray[np.float32]
"""[texts, longest, hidden]; what stands behind a text's last token means nothing."""


def pooled(states: States, lengths: Sequence[int], pooling: Pooling) -> Vector:
    """Vectors of the texts, of length one: [texts, hidden]."""
    if pooling is Pooling.CLS:
        vectors = states[:, 0]
    elif pooling is Pooling.LAST:
        vectors = states[np.arange(len(states)), np.asarray(lengths) - 1]
    else:
        real = (np.arange(states.shape[1]) < np.asarray(lengths)[:, None]).astype(np.float32)
        vectors = (real[:, None] @ states)[:, 0]
    return _unit(vectors)


def embedding_of(model: PreparedModel) -> Embedding:
    """What a collection is fixed to; the digest is the hash of all that decides a chunk's vector, but for rounding."""
    decides = [model.digest, model.pooling.value, model.query_prefix, model.passage_prefix, CONTEXT_VERSION]
    digest = hashlib.sha256(json.dumps(decides).encode()).hexdigest()
    return Embedding(model.name, digest, model.dimension)


class TokenPacker:
    """Packs the vectors of chunks' own tokens, projected as the model's preparation says."""

    def __init__(self, model: PreparedModel) -> None:
        self._projection = _projection(model.late_projection)
        self.digest = "" if self._projection is None else digest_of(model)

    def __call__(self, states: States, batch: Sequence[ChunkTokens]) -> list[bytes]:
        """Packed vectors of each text; empty where it has none."""
        return [
            self._pack(rows[tokens.first : tokens.first + len(tokens.places)], tokens)
            for rows, tokens in zip(states, batch, strict=True)
        ]

    def _pack(self, rows: NDArray[np.float32], tokens: ChunkTokens) -> bytes:
        if self._projection is None or not tokens.places:
            return b""
        return pack(tokens.characters, np.array(tokens.places, np.uint32), _unit(rows @ self._projection))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12), np.float32)


def _projection(path: Path) -> NDArray[np.float32] | None:
    if not path.is_file():
        return None
    projection = np.load(path, allow_pickle=False).astype(np.float32)
    return projection if projection.shape[1] <= MOST_DIMENSIONS else None
