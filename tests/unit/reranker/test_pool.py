"""Blocking work behind an event loop: bounded, urgent first, dropped when nobody waits."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable

import pytest

from citemesh.errors import DeadlineExceeded, InvalidInput, Overloaded
from services.reranker.engine import Alive
from services.reranker.pool import RerankerPool


@pytest.fixture
async def pool() -> AsyncIterator[RerankerPool]:
    pool = RerankerPool(1, waiting=2)
    yield pool
    pool.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.002)


class Gate:
    """Work that waits to be let through, or until nobody wants it."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.open = threading.Event()
        self.abandoned = threading.Event()

    def __call__(self, alive: Alive) -> str:
        self.begun.set()
        while not self.open.wait(0.002):
            if not alive():
                self.abandoned.set()
                raise DeadlineExceeded("gate")
        return "through"


def fails(fault: Exception) -> Callable[[Alive], None]:
    def work(alive: Alive) -> None:
        raise fault

    return work


async def test_results_and_faults_come_back(pool: RerankerPool) -> None:
    assert await pool.run("work", lambda alive: alive(), 0, 5) is True
    with pytest.raises(InvalidInput, match="bad"):
        await pool.run("work", fails(InvalidInput("field", "bad")), 0, 5)


async def test_the_loop_runs_on_while_work_blocks(pool: RerankerPool) -> None:
    gate = Gate()
    task = asyncio.create_task(pool.run("work", gate, 0, 5))
    await until(gate.begun.is_set)
    gate.open.set()
    assert await task == "through"


async def test_one_too_many_is_refused(pool: RerankerPool) -> None:
    gate = Gate()
    tasks = [asyncio.create_task(pool.run("work", gate, 0, 5)) for _ in range(3)]
    await until(lambda: pool.waiting == 2)
    with pytest.raises(Overloaded) as refused:
        await pool.run("work", gate, 0, 5)
    assert 0 < refused.value.retry_after_s < 60
    gate.open.set()
    assert await asyncio.gather(*tasks) == ["through"] * 3


async def test_a_left_place_in_the_queue_is_free_again(pool: RerankerPool) -> None:
    gate, later = Gate(), Gate()
    running = asyncio.create_task(pool.run("work", gate, 0, 5))
    leaving = [asyncio.create_task(pool.run("work", later, 0, 5)) for _ in range(2)]
    await until(lambda: pool.waiting == 2)
    for task in leaving:
        task.cancel()
    await until(lambda: pool.waiting == 0)
    behind = asyncio.create_task(pool.run("work", lambda alive: "kept", 0, 5))
    gate.open.set()
    assert [await running, await behind] == ["through", "kept"]
    assert not later.begun.is_set()


async def test_the_deadline_ends_waiting_and_work(pool: RerankerPool) -> None:
    gate, later = Gate(), Gate()
    with pytest.raises(DeadlineExceeded, match="too slow"):
        await asyncio.gather(pool.run("too slow", gate, 0, 0.2), pool.run("too slow", later, 0, 0.05))
    await until(gate.abandoned.is_set)
    assert await pool.run("work", lambda alive: "free", 0, 5) == "free"
    assert not later.begun.is_set()


async def test_no_time_left_is_refused(pool: RerankerPool) -> None:
    with pytest.raises(DeadlineExceeded):
        await pool.run("work", lambda alive: 1, 0, 0.0)


async def test_health_counts_unforeseen_faults_in_a_row(pool: RerankerPool) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError):
            await pool.run("work", fails(RuntimeError("boom")), 0, 5)
    assert pool.healthy
    await pool.run("work", lambda alive: 1, 0, 5)
    for _ in range(3):
        with pytest.raises(RuntimeError):
            await pool.run("work", fails(RuntimeError("boom")), 0, 5)
    assert not pool.healthy


async def test_foreseen_faults_do_not_count(pool: RerankerPool) -> None:
    for _ in range(5):
        with pytest.raises(InvalidInput):
            await pool.run("work", fails(InvalidInput("field", "bad")), 0, 5)
    assert pool.healthy


async def test_calls_that_left_do_not_pile_up(pool: RerankerPool) -> None:
    gate = Gate()
    running = asyncio.create_task(pool.run("work", gate, 0, 5))
    await until(gate.begun.is_set)
    for _ in range(50):
        with pytest.raises(DeadlineExceeded):
            await pool.run("work", lambda alive: 1, 0, 0.001)
    assert len(pool._queue) <= 2
    gate.open.set()
    assert await running == "through"
