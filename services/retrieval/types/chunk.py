"""Chunks of documents: where they stand, their tokens and their vectors.

Spans count code points of a document's extracted text. Vectors are float32 of the collection's dimension and of length
one, so that an inner product is a cosine.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk stands: span in the text, 1-based page (0: no pages), headings from the outermost."""

    start: int
    end: int
    page: int = 0
    headings: tuple[str, ...] = ()


NOWHERE = Place(0, 0)


@dataclass(frozen=True, slots=True)
class TokenIds:
    """A text's token ids and the digest of the tokenizer that made them; both empty until they are known."""

    ids: tuple[int, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class PackedTokenVectors:
    """A text's token vectors as `citemesh.models.tokens.token_vectors` packs them, and their model's digest."""

    packed: bytes = b""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a document as it is stored; text is exactly the document's text at its place."""

    chunk_id: str
    place: Place
    text: str
    tokens: TokenIds = TokenIds()
    token_vectors: PackedTokenVectors = PackedTokenVectors()
