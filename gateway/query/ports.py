"""What the flow needs of the other services, as small protocols, which their clients satisfy; and whose an error is."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from citemesh.client.types import (
    Candidate,
    Chat,
    Delta,
    Encoded,
    Judge,
    Model,
    Ranked,
    Sampling,
    Search,
    SearchAnswer,
    Support,
    TokenizerInfo,
)
from citemesh.errors import CiteMeshError, DataLoss, DeadlineExceeded, PreconditionFailed, Retryable

_SERVICE_ERRORS = (Retryable, DeadlineExceeded, PreconditionFailed, DataLoss)


class TokenizerPort(Protocol):
    """Text to token ids and back, as the models do it."""

    async def encode(self, texts: Sequence[str], tokenizer: str = "", add_special_tokens: bool = False) -> Encoded:
        """Token ids of each text, in order."""
        ...

    async def decode(
        self, sequences: Sequence[Sequence[int]], tokenizer: str = "", skip_special_tokens: bool = True
    ) -> tuple[str, ...]:
        """Text of each sequence of ids."""
        ...

    async def render_chat(
        self, messages: Sequence[tuple[str, str]], tokenizer: str = "", add_generation_prompt: bool = True
    ) -> Chat:
        """A conversation of (role, content) turns as the prompt of the model."""
        ...

    async def list(self) -> tuple[TokenizerInfo, ...]:
        """The loaded tokenizers; the first is the default."""
        ...


class RetrievalPort(Protocol):
    """Finds passages, best first."""

    async def find(self, search: Search) -> SearchAnswer:
        """Passages for a search. Raises NotFound for an unknown collection."""
        ...


class GenerationPort(Protocol):
    """Writes; closing the iterator ends the work at once."""

    def generate(
        self, ids: Sequence[int], digest: str = "", sampling: Sampling | None = None, model: str = ""
    ) -> AsyncIterator[Delta]:
        """Streams what the model writes after a prompt of token ids."""
        ...

    async def list(self) -> tuple[Model, ...]:
        """The loaded models; the first is the default."""
        ...


class RerankerPort(Protocol):
    """Judges passages against a question, and sentences against passages."""

    async def rerank(self, query: str, candidates: Sequence[Candidate], top_k: int = 0) -> tuple[Ranked, ...]:
        """Candidates, best first."""
        ...

    async def attribute(
        self, sentences: Sequence[str], passages: Sequence[Candidate], max_support: int = 3
    ) -> tuple[tuple[Support, ...], ...]:
        """For each sentence, the passages that support it, best first."""
        ...

    async def model(self) -> Judge:
        """Which model judges, and its share in the order."""
        ...


@dataclass(frozen=True, slots=True)
class Upstreams:
    """The services that one question passes through."""

    tokenizer: TokenizerPort
    retrieval: RetrievalPort
    generation: GenerationPort
    reranker: RerankerPort


def is_service_error(error: CiteMeshError) -> bool:
    """Whether a service failed, which an answer can survive; the others are the question's, and its caller must hear.

    The root of the tree alone stands for a service's unexpected error.
    """
    return type(error) is CiteMeshError or isinstance(error, _SERVICE_ERRORS)
