"""What the service asks of an engine: plain calls that work in whatever thread they are called from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class TokenizerFacts:
    """A tokenizer's description.

    Attributes:
        name: its name in requests.
        digest: SHA-256 of its definition, 64 lowercase hex digits.
        vocabulary_size: one over the highest id.
        max_tokens: longest sequence its model takes; 0 where unknown.
        has_chat_template: it can render conversations.
        prefix, suffix: the model's own start and end tokens, around a sequence.
    """

    name: str
    digest: str
    vocabulary_size: int
    max_tokens: int
    has_chat_template: bool
    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """A text as tokens.

    Attributes:
        ids: ids in the vocabulary.
        spans: (start, end) of each token in the text, in code points; empty unless asked for.
        unknown: tokens that stand for text the vocabulary can't spell.
    """

    ids: list[int]
    spans: list[tuple[int, int]]
    unknown: int


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One turn of a conversation; role is "system", "user" or "assistant"."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """A conversation as the model's prompt."""

    text: str
    ids: list[int]


class TokenizerEngine(Protocol):
    """One tokenizer. Control tokens that stand in a text are text: a document can't speak for the system."""

    @property
    def facts(self) -> TokenizerFacts:
        """Its description."""

    def encode(self, texts: Sequence[str], with_spans: bool) -> list[TokenizedText]:
        """Returns the tokens of each text, without start and end tokens."""

    def cut(self, text: str, start: int, size: int) -> int:
        """Returns where a text may be cut so that its parts give the same tokens.

        It is the last such place after start and at most size code points on; with none, the next one; the
        text's end at the latest.
        """

    def decode(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool) -> list[str]:
        """Returns the text of each sequence. Raises InvalidInput for an id outside the vocabulary."""

    def render(self, turns: Sequence[ChatTurn], add_generation_prompt: bool) -> ChatPrompt:
        """Returns a conversation as a prompt. Raises NotSupported without a template, InvalidInput if it refuses."""
