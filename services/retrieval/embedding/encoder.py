"""What an embedding model is to this room: plain synchronous Python, called in one thread at a time."""

from collections.abc import Sequence
from typing import Literal, Protocol

from services.retrieval.engine import Embedding, Vector
from services.retrieval.ingest.chunk import TokenCounter

Role = Literal["query", "passage"]
Ids = Sequence[int]

CONTEXT_VERSION = 1
"""Changes whenever the same chunk would be embedded as another text; it is part of an embedding's digest."""
_LONGEST_CONTEXT = 200


class Encoder(TokenCounter, Protocol):
    """Token ids and vectors of texts. All but `embed` may be called from several threads at once."""

    @property
    def embedding(self) -> Embedding:
        """What a collection is fixed to."""

    def ids(self, texts: Sequence[str], role: Role) -> list[Ids]:
        """What the model sees of each text: its role's prefix, special tokens, cut at the model's limit."""

    def embed(self, batch: Sequence[Ids]) -> Vector:
        """Vectors of length one, shape (len(batch), dimension), float32."""


def in_context(title: str, headings: Sequence[str], text: str) -> str:
    """A chunk as it is embedded: under its document's title and its headings, which say what "it" is."""
    context = " > ".join(dict.fromkeys(filter(None, (title, *headings))))
    return f"{context[:_LONGEST_CONTEXT]}\n{text}" if context else text
