"""Values of the tokenizer service."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    """A loaded tokenizer; digest is the SHA-256 of its definition in hex, max_tokens 0 where unknown."""

    name: str
    digest: str
    vocabulary_size: int
    max_tokens: int
    has_chat_template: bool


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of texts, in their order, and the digest of the tokenizer that made them."""

    sequences: tuple[tuple[int, ...], ...]
    tokenizer: str
    digest: str


@dataclass(frozen=True, slots=True)
class Chat:
    """A rendered conversation: the prompt as text and as token ids."""

    text: str
    ids: tuple[int, ...]
    digest: str
