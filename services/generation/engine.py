"""The contract of a generation engine."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """Options for choosing the next token.

    Attributes:
        temperature: softness, 0 to 2; 0 always takes the likeliest.
        top_p: share of probability to choose from, over 0 to 1.
        max_tokens: most tokens of the answer, 1 and up.
        stop: texts that end the answer and are not part of it.
        seed: makes a soft choice repeatable.
        repetition_penalty: how much tokens of the answer are held back, over 0 to 2; 1 is not at all.
        json_schema: JSON schema, as text, that the answer must follow; empty leaves it free.
        grammar: EBNF, from its rule "root", in the same way; at most one of the two is set.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    seed: int | None = None
    repetition_penalty: float = 1.0
    json_schema: str = ""
    grammar: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """A request: a prompt to continue, as token ids or as text. Priority: 0 is the most urgent, 2 the least."""

    prompt: tuple[int, ...] | str
    sampling: SamplingOptions = field(default_factory=SamplingOptions)
    priority: int = 0


class Finish(Enum):
    """Why the model stopped: it ended or met a stop text, it reached a limit, or the request was aborted."""

    STOP = "stop"
    LENGTH = "length"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens that one request used; cached ones are those of the prompt found in the prefix cache."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """The next part of an answer: whole characters and their tokens; the last one has finish and usage."""

    text: str
    ids: tuple[int, ...] = ()
    finish: Finish | None = None
    usage: TokenUsage | None = None


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A loaded model; max_tokens holds prompt and answer together."""

    name: str
    max_tokens: int
    tokenizer_digest: str
    engine: str


@dataclass(frozen=True, slots=True)
class EngineState:
    """State of an engine: whether it works, requests that run and that wait, and the share of its memory in use."""

    healthy: bool
    running: int = 0
    waiting: int = 0
    memory: float = 0.0


class GenerationEngine(Protocol):
    """Runs one language model."""

    async def start(self) -> ModelFacts:
        """Loads the model, which may take a minute. Raises PreconditionFailed where it can't be loaded."""

    async def stop(self) -> None:
        """Ends the engine and what it started; requests in progress are aborted."""

    def generate(self, work: Work) -> AsyncGenerator[AnswerPart, None]:
        """Writes; closing or cancelling the generator aborts the request at once.

        Raises InvalidInput for a prompt that the model can't take, Overloaded when the engine's queue is full,
        Unavailable when the engine is dead.
        """

    async def state(self) -> EngineState:
        """Says what state the engine is in."""
