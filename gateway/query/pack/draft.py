"""What an answer is made of."""

from dataclasses import dataclass, field

from citemesh.client.types import Model, Source
from gateway.query.pack.packing import Packed
from gateway.query.pack.token_vectors import SourceVectors


@dataclass(frozen=True, slots=True)
class Draft:
    """Numbered sources, their token vectors and, where a model can write, its prompt."""

    sources: tuple[Source, ...]
    model: Model | None = None
    packed: Packed | None = None
    vectors: SourceVectors = field(default_factory=SourceVectors)
