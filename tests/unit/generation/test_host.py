"""The host: places, deadlines, and an engine that is lost."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from citemesh.errors import DeadlineExceeded, Overloaded, Unavailable
from services.generation.engine import AnswerPart, EngineState, ModelFacts, Work
from services.generation.host import LOOK_EVERY_S, Host


class Silent:
    """An engine that never writes; knows who asks and who left."""

    def __init__(self) -> None:
        self.asked = self.left = 0
        self.alive = True

    async def start(self) -> ModelFacts:
        return ModelFacts("silent", 10, "d", "silent")

    async def stop(self) -> None:
        self.alive = False

    async def state(self) -> EngineState:
        return EngineState(self.alive)

    async def generate(self, work: Work) -> AsyncGenerator[AnswerPart, None]:
        self.asked += 1
        try:
            await asyncio.Event().wait()
            yield AnswerPart("")
        finally:
            self.left += 1


async def drain(host: Host, timeout_s: float) -> None:
    async with aclosing(host.generate(Work("x"), timeout_s)) as deltas:
        async for _ in deltas:
            pass


async def test_a_deadline_ends_the_request_in_the_engine() -> None:
    engine = Silent()
    with pytest.raises(DeadlineExceeded):
        await drain(Host(engine, 4), 0.01)
    assert (engine.asked, engine.left) == (1, 1)


async def test_a_caller_that_leaves_frees_its_place_at_once() -> None:
    engine = Silent()
    host = Host(engine, 1)
    task = asyncio.create_task(drain(host, 60))
    async with asyncio.timeout(5):
        while not engine.asked:
            await asyncio.sleep(0.001)
    with pytest.raises(Overloaded) as refusal:
        await drain(host, 60)
    assert refusal.value.retry_after_s > 0
    assert engine.asked == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert engine.left == 1
    with pytest.raises(DeadlineExceeded):
        await drain(host, 0.01)


async def test_it_is_lost_when_a_loaded_engine_no_longer_works() -> None:
    engine = Silent()
    host = Host(engine, 1)
    with pytest.raises(Unavailable):
        _ = host.facts
    lost = asyncio.create_task(host.lost())
    await host.start()
    assert host.facts.name == "silent"
    await asyncio.sleep(0)
    assert not lost.done()
    engine.alive = False
    await asyncio.wait_for(lost, 5)


async def test_an_engine_that_was_stopped_is_not_lost() -> None:
    host = Host(Silent(), 1)
    await host.start()
    await host.stop()
    lost = asyncio.create_task(host.lost())
    done, _ = await asyncio.wait([lost], timeout=3 * LOOK_EVERY_S)
    assert not done
    lost.cancel()
