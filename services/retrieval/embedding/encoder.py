"""The contract of an embedding model: plain synchronous Python."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, Protocol, runtime_checkable

from citemesh.models.tokens.token_vectors import CONTEXT_VERSION
from citemesh.text.characters import takes_two_columns
from services.retrieval.types.chunk import Vector
from services.retrieval.types.collection import Embedding

__all__ = [
    "CONTEXT_TOKENS",
    "CONTEXT_VERSION",
    "ChunkTokens",
    "Encoder",
    "Ids",
    "LateEncoder",
    "Role",
    "TokenCounter",
    "in_context",
]

Role = Literal["query", "passage"]
Ids = Sequence[int]

_LONGEST_CONTEXT = 200
CONTEXT_TOKENS = 90
"""Most tokens that so many characters of title and headings take in English, Chinese or Arabic."""


class TokenCounter(Protocol):
    """The embedding model's tokenizer, as far as cutting needs it. Called outside the event loop."""

    def count(self, texts: Sequence[str]) -> Sequence[int]:
        """Tokens of each text, special ones aside."""

    def ends(self, text: str) -> Sequence[int]:
        """Where each token ends, ascending, each over 0."""


class Encoder(TokenCounter, Protocol):
    """Token ids and vectors of texts. Every method may be called from several threads at once."""

    @property
    def embedding(self) -> Embedding:
        """What a collection is fixed to."""

    def ids(self, texts: Sequence[str], role: Role) -> list[Ids]:
        """What the model sees of each text: its role's prefix, special tokens, cut at the model's limit."""

    def embed(self, batch: Sequence[Ids]) -> Vector:
        """Vectors of length one, shape (len(batch), dimension), float32.

        Raises Unavailable, Overloaded or DeadlineExceeded where the model is elsewhere and can't be reached.
        """

    def unknown_rate(self, texts: Sequence[str]) -> list[float]:
        """Share of each text's characters, spaces aside, that the vocabulary lacks: 0 (reads all) to 1 (nothing)."""


@dataclass(frozen=True, slots=True)
class ChunkTokens:
    """What the model sees of a chunk in its context, and which of these tokens are the chunk's own.

    ids: all tokens. first: index of the chunk's first token; its others follow. places: last code point of each of the
    chunk's tokens in its text; empty where the model's limit cut the chunk, whose vectors would be half the truth.
    characters: length of the chunk's text.
    """

    ids: Ids
    first: int
    places: Sequence[int]
    characters: int

    def __len__(self) -> int:
        return len(self.ids)


@runtime_checkable
class LateEncoder(Protocol):
    """An encoder that gives vectors of tokens too, from the pass that makes a text's vector."""

    @property
    def token_vectors_digest(self) -> str:
        """Hash of all that decides token vectors; empty where there are none."""

    @property
    def capacity(self) -> int:
        """Most tokens of a chunk that the model reads whole in the longest context."""

    def tokens(self, texts: Sequence[str], lengths: Sequence[int]) -> list[ChunkTokens]:
        """What the model sees of chunks in their context, of which so many characters at the end are the chunk's."""

    def embed_tokens(self, batch: Sequence[ChunkTokens]) -> tuple[Vector, list[bytes]]:
        """As `embed`, and each chunk's packed token vectors (citemesh.models.tokens.token_vectors); empty: none."""


def in_context(title: str, headings: Sequence[str], text: str) -> str:
    """A chunk as it is embedded: under its document's title and its headings, which say what "it" is."""
    context = " > ".join(dict.fromkeys(filter(None, (title, *headings))))
    return f"{_fitting(context)}\n{text}" if context else text


def _fitting(context: str) -> str:
    """Cuts a context so that a model of 512 tokens can read the chunk too. Wide characters take twice the tokens."""
    if len(context) * 2 <= _LONGEST_CONTEXT or context.isascii():
        return context[:_LONGEST_CONTEXT]
    widths = accumulate(2 if takes_two_columns(character) else 1 for character in context[:_LONGEST_CONTEXT])
    return context[: bisect_right(list(widths), _LONGEST_CONTEXT)]
