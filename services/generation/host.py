"""Hosts an engine: bounds its requests, ends them at their deadlines, and notices when it is lost."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from citemesh.errors import DeadlineExceeded, Overloaded, Unavailable
from services.generation.engine import AnswerPart, EngineState, GenerationEngine, ModelFacts, Work

LOOK_EVERY_S = 0.25


class Host:
    """Admits requests to an engine, up to a number, and ends each at its deadline."""

    def __init__(self, engine: GenerationEngine, max_requests: int) -> None:
        self._engine = engine
        self._max_requests = max_requests
        self._requests = 0
        self._facts: ModelFacts | None = None
        self._stopped = False
        self.last = EngineState(healthy=False)
        """The engine's state when it was last read."""

    @property
    def facts(self) -> ModelFacts:
        """The loaded model. Raises Unavailable until it is."""
        if self._facts is None:
            raise Unavailable("the language model")
        return self._facts

    async def start(self) -> None:
        """Loads the model."""
        self._facts = await self._engine.start()

    async def stop(self) -> None:
        """Ends the engine, which is then not lost."""
        self._stopped = True
        await self._engine.stop()

    async def state(self) -> EngineState:
        """Says what state the engine is in."""
        self.last = await self._engine.state()
        return self.last

    async def healthy(self) -> bool:
        """Says whether the engine works."""
        return (await self.state()).healthy

    async def lost(self) -> None:
        """Returns once a loaded engine no longer works, unless it was stopped."""
        while self._facts is None or self._stopped or await self.healthy():  # noqa: ASYNC110 - an engine only says so when it is asked
            await asyncio.sleep(LOOK_EVERY_S)

    async def generate(self, work: Work, timeout_s: float) -> AsyncGenerator[AnswerPart, None]:
        """Writes; closing it aborts the request at once.

        Raises:
            Overloaded: too many requests run and wait already.
            DeadlineExceeded: the caller's time ran out.
            InvalidInput, Unavailable: see GenerationEngine.
        """
        if self._requests >= self._max_requests:
            raise Overloaded("the language model's queue", 1.0)
        self._requests += 1
        try:
            async with aclosing(self._engine.generate(work)) as deltas:
                async for delta in in_time(deltas, timeout_s):
                    yield delta
        finally:
            self._requests -= 1


async def in_time(deltas: AsyncGenerator[AnswerPart, None], timeout_s: float) -> AsyncGenerator[AnswerPart, None]:
    """Passes deltas on until the time is up. Raises DeadlineExceeded then."""
    ends_at = asyncio.get_running_loop().time() + timeout_s
    while True:
        try:
            async with asyncio.timeout_at(ends_at):
                delta = await anext(deltas)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise DeadlineExceeded("writing the answer") from None
        yield delta
