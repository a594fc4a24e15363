"""Jobs of the pool: each is done step by step, and its caller waits on a future."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from services.tokenizer.engine import TokenizedText, TokenizerEngine

T = TypeVar("T")


class PoolJob:
    """A request in the pool; priority is the queue it waits in."""

    def __init__(self, characters: int) -> None:
        """Makes a job that holds so many code points."""
        self.characters = characters
        self.priority = 0
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def left(self) -> bool:
        """True when nobody waits for it any more."""
        return self.future.done()

    @property
    def complete(self) -> bool:
        """True when no step is left to do."""
        raise NotImplementedError

    def succeed(self) -> None:
        """Tells the caller that the work is done."""
        if not self.future.done():
            self.future.set_result(None)

    def fail(self, fault: Exception) -> None:
        """Tells the caller why the work can't be done."""
        if not self.future.done():
            self.future.set_exception(fault)


class CallJob(PoolJob, Generic[T]):
    """A function to run in one step; its result is in ``result``."""

    def __init__(self, run: Callable[[], T], characters: int) -> None:
        super().__init__(characters)
        self._run = run
        self._result: list[T] = []

    @property
    def complete(self) -> bool:
        """True once it ran."""
        return bool(self._result)

    @property
    def result(self) -> T:
        """What the function returned."""
        return self._result[0]

    def step(self) -> None:
        """Runs the function."""
        self._result.append(self._run())


@dataclass(frozen=True, slots=True)
class TextPart:
    """A stretch of one text of an encode job."""

    job: "EncodeJob"
    number: int
    start: int
    text: str


class EncodeJob(PoolJob):
    """Texts to encode, taken part by part; their tokens gather in ``tokens``."""

    def __init__(self, engine: TokenizerEngine, texts: Sequence[str], with_spans: bool) -> None:
        super().__init__(sum(map(len, texts)))
        self.engine = engine
        self.with_spans = with_spans
        self.tokens = [TokenizedText([], [], 0) for _ in texts]
        self._texts = texts
        self._number = self._start = 0

    @property
    def complete(self) -> bool:
        """True when every text was taken to its end."""
        return self._number == len(self._texts)

    def alike(self, other: PoolJob) -> bool:
        """Says whether both can be encoded in one call."""
        return isinstance(other, EncodeJob) and (other.engine, other.with_spans) == (self.engine, self.with_spans)

    def take(self, size: int) -> list[TextPart]:
        """Takes the next parts, about size code points together: whole texts, or one part of a long one."""
        parts: list[TextPart] = []
        if not self.complete:
            parts.append(self._next(size))
        budget = size - sum(len(part.text) for part in parts)
        while not self.complete and self._start == 0 and len(self._texts[self._number]) < budget:
            parts.append(self._next(budget))
            budget -= len(parts[-1].text) + 1
        return parts

    def put(self, part: TextPart, tokens: TokenizedText) -> None:
        """Adds the tokens of a part to those of its text."""
        text = self.tokens[part.number]
        text.ids.extend(tokens.ids)
        text.spans.extend((part.start + start, part.start + end) for start, end in tokens.spans)
        self.tokens[part.number] = TokenizedText(text.ids, text.spans, text.unknown + tokens.unknown)

    def _next(self, size: int) -> TextPart:
        text, start = self._texts[self._number], self._start
        end = self.engine.cut(text, start, size)
        part = TextPart(self, self._number, start, text[start:end])
        self._number, self._start = (self._number, end) if end < len(text) else (self._number + 1, 0)
        return part


def encode_step(jobs: Sequence[EncodeJob], size: int) -> None:
    """Encodes the next parts of alike jobs in one call, about size code points together."""
    share = max(1, size // len(jobs))
    parts = [part for job in jobs if not job.left for part in job.take(share)]
    if parts:
        tokenized = jobs[0].engine.encode([part.text for part in parts], jobs[0].with_spans)
        for part, tokens in zip(parts, tokenized, strict=True):
            part.job.put(part, tokens)
