"""A fake language model: it copies sentences from its prompt, so that answers can be checked against sources.

It uses the byte vocabulary of the fake tokenizer, calls itself "fake", and can be slow, refuse and die on demand, so
that other services can be tested against that.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass

from citemesh.errors import InvalidInput, NotSupported, Overloaded, Unavailable
from citemesh.models.tokens import byte_vocabulary as vocabulary
from services.generation.engine import AnswerPart, EngineState, Finish, ModelFacts, TokenUsage, Work
from services.generation.engines import copying, shapes
from services.generation.engines.prompts import check_length

CHUNK = re.compile(r"\s*\S{1,8}|\s+")


@dataclass(frozen=True, slots=True)
class Faults:
    """Faults to simulate: seconds for each delta, deltas after which it dies (0: never), refusing."""

    delay_s: float = 0.0
    die_after: int = 0
    refuse: bool = False


class FakeGenerationEngine:
    """See GenerationEngine. Works on max_running requests at a time; the others wait."""

    def __init__(self, faults: Faults, max_running: int = 16, max_tokens: int = vocabulary.MAX_TOKENS) -> None:
        self._faults = faults
        self._max_tokens = min(max_tokens, vocabulary.MAX_TOKENS)
        self._slots = asyncio.Semaphore(max_running)
        self._running = self._waiting = 0
        self._alive = False

    async def start(self) -> ModelFacts:
        """Is ready at once."""
        self._alive = True
        return ModelFacts("fake-copier", self._max_tokens, vocabulary.DIGEST, "fake")

    async def stop(self) -> None:
        """Ends; requests in progress fail at their next delta."""
        self._alive = False

    async def state(self) -> EngineState:
        """Says what state the engine is in."""
        return EngineState(self._alive, self._running, self._waiting)

    async def generate(self, work: Work) -> AsyncGenerator[AnswerPart, None]:
        """Writes a copied answer, delta by delta."""
        self._check(work)
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        self._running += 1
        try:
            for number, delta in enumerate(deltas(work, self._max_tokens)):
                await asyncio.sleep(self._faults.delay_s)
                self._step(number)
                yield delta
        finally:
            self._running -= 1
            self._slots.release()

    def _check(self, work: Work) -> None:
        if not self._alive:
            raise Unavailable("the fake engine")
        if self._faults.refuse:
            raise Overloaded("the fake engine's queue", 1.0)
        if isinstance(work.prompt, tuple):
            for place, token in enumerate(work.prompt):
                if not 0 <= token < vocabulary.SIZE:
                    raise InvalidInput(
                        f"tokens.ids[{place}]",
                        f"{token} is not in the vocabulary",
                        f"send ids from 0 to {vocabulary.SIZE - 1}, made by the model's own tokenizer",
                    )
        if work.sampling.grammar:
            raise NotSupported("a grammar, by the fake engine", "leave it out")
        check_length(prompt_length(work), self._max_tokens)

    def _step(self, number: int) -> None:
        if self._faults.die_after and number >= self._faults.die_after:
            self._alive = False
        if not self._alive:
            raise Unavailable("the fake engine", remedy="it died while it wrote")


def prompt_length(work: Work) -> int:
    """Returns a prompt's length in tokens of the byte vocabulary."""
    return len(work.prompt) if isinstance(work.prompt, tuple) else len(work.prompt.encode())


def deltas(work: Work, max_tokens: int) -> Iterator[AnswerPart]:
    """Returns the answer in parts of a few characters; a character's bytes never part."""
    schema = work.sampling.json_schema
    answer = shapes.smallest(schema) if schema else copying.answer(copying.prompt_text(work.prompt))
    text, finish = stopped(answer, work.sampling.stop)
    most = min(work.sampling.max_tokens, max_tokens - prompt_length(work))
    if len(text.encode()) > most:
        text, finish = cut(text, most), Finish.LENGTH
    for part in CHUNK.findall(text):
        yield AnswerPart(part, tuple(vocabulary.encode(part)))
    yield AnswerPart("", (), finish, TokenUsage(prompt_length(work), len(text.encode()), 0))


def stopped(text: str, stop: tuple[str, ...]) -> tuple[str, Finish]:
    """Returns a text up to the first stop text in it."""
    places = [text.find(end) for end in stop if end in text]
    return text[: min(places, default=len(text))], Finish.STOP


def cut(text: str, size: int) -> str:
    """Returns the whole characters within the first size bytes of a text."""
    return text.encode()[:size].decode("utf-8", errors="ignore")
