"""One search: its query, and the filter that results must pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from services.retrieval.types.chunk import Vector
from services.retrieval.types.collection import Embedding

Mode = Literal["hybrid", "dense", "lexical"]
Fusion = Literal["min-max", "reciprocal-rank"]
View = Literal["full", "reference"]


@dataclass(frozen=True, slots=True)
class Condition:
    """What one entry of the metadata must be: one of `any_of`, a number or a text within bounds (None: no bound).

    Exactly one of the three is set. A document without the entry, or whose value is no number, doesn't pass.
    """

    key: str
    any_of: tuple[str, ...] = ()
    numbers: tuple[float | None, float | None] | None = None
    texts: tuple[str | None, str | None] | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """What a result must be; an empty field accepts all. A domain with a leading "-" is denied."""

    document_ids: Sequence[str] = ()
    source_types: Sequence[str] = ()
    domains: Sequence[str] = ()
    languages: Sequence[str] = ()
    published_after: datetime | None = None
    published_before: datetime | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    conditions: Sequence[Condition] = ()

    @property
    def empty(self) -> bool:
        """Whether it accepts everything."""
        return self is EVERYTHING or self == EVERYTHING


EVERYTHING = Filter()
"""The filter that everything passes. Nothing writes to it."""


@dataclass(frozen=True, slots=True)
class Query:
    """One search. vector, of shape (dimension,), and its embedding are None for a lexical one; top_k is 1 to 1000."""

    collection: str
    text: str
    top_k: int
    vector: Vector | None = None
    embedding: Embedding | None = None
    mode: Mode = "hybrid"
    filter: Filter = EVERYTHING
    with_token_ids: bool = False
    with_token_vectors: bool = False
    fusion: Fusion = "min-max"
    dense_weight: float | None = None
    """Share of the dense part, 0 to 1; None takes the engine's default."""
    keep_duplicates: bool = False
    token_vectors_of: int = 0
    """Chunks, from the best, whose token vectors are wanted where any are; 0: all."""
    view: View = "full"
    """A reference is a chunk of which nothing is read but its id and its document's, and whose place is NOWHERE."""

    @property
    def most_token_vectors(self) -> int:
        """Chunks, from the best, that the answer holds with their token vectors."""
        return (self.token_vectors_of or self.top_k) if self.with_token_vectors else 0
