"""A prepared model: a transformers directory that is complete, verified and says what it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

LATE_PROJECTION = "late_projection.npy"


class Kind(Enum):
    """What a model does."""

    EMBEDDING = "embedding"
    GENERATION = "generation"
    CROSS_ENCODER = "cross-encoder"


class Pooling(Enum):
    """How token vectors become one text vector: their mean, the first token's, or the last token's."""

    MEAN = "mean"
    CLS = "cls"
    LAST = "last"


@dataclass(frozen=True)
class Facts:
    """What a caller of a model must know about it.

    Attributes:
        name: short name, such as multilingual-e5-small.
        kind: what the model does.
        digest: SHA-256 of the weights, lower-case hex. With several weight files, that of the lines
            "<sha256>  <file name>\\n" sorted by name. Vectors of different digests must not be compared.
        licence: SPDX name, empty when not known.
        dimension: width of a token vector, and of a text vector for an embedding model.
        max_tokens: longest input in tokens, special tokens included.
        pooling: for an embedding model.
        query_prefix, passage_prefix: text put before each text of that role; may be empty.
    """

    name: str
    kind: Kind
    digest: str
    licence: str
    dimension: int
    max_tokens: int
    pooling: Pooling
    query_prefix: str
    passage_prefix: str


@dataclass(frozen=True)
class PreparedModel(Facts):
    """Facts and the directory they describe.

    Attributes:
        directory: holds config.json, safetensors, a fast tokenizer.json (without truncation or padding, unless it is
            a linked foreign one) and manifest.json; never changed once it exists.
    """

    directory: Path

    @property
    def late_projection(self) -> Path:
        """Path of the float32 [dimension, at most 128] projection for late interaction; embedding models have it."""
        return self.directory / LATE_PROJECTION
