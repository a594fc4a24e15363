"""Admission: bounded, by class, honest about hopeless waits, and no slot is ever lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from citemesh.errors import DeadlineExceeded, Overloaded
from gateway.admission.router import Admission, Priority


def admission(slots: int = 1, depth: int = 2) -> Admission:
    return Admission(slots, dict.fromkeys(Priority, depth))


@asynccontextmanager
async def holding(desk: Admission) -> AsyncIterator[asyncio.Event]:
    """One slot is held until the event is set."""
    release, entered = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with desk.admit(Priority.INTERACTIVE, 60):
            entered.set()
            await release.wait()

    task = asyncio.create_task(hold())
    await entered.wait()
    try:
        yield release
    finally:
        release.set()
        await task


async def waiters(desk: Admission, count: int) -> None:
    async with asyncio.timeout(5):
        while desk.waiting != count:
            await asyncio.sleep(0)


async def test_a_free_slot_costs_no_wait() -> None:
    desk = admission()
    async with desk.admit(Priority.BATCH, 1.0) as waited:
        assert waited == 0.0
        assert desk.running == 1
    assert desk.running == 0


async def test_the_most_urgent_goes_first_and_within_a_class_the_first() -> None:
    desk = admission()
    order: list[str] = []

    async def call(name: str, priority: Priority) -> None:
        async with desk.admit(priority, 60):
            order.append(name)

    calls = [("bg", Priority.BACKGROUND), ("b", Priority.BATCH), ("i1", Priority(0)), ("i2", Priority(0))]
    async with holding(desk):
        tasks = []
        for count, (name, priority) in enumerate(calls, 1):
            tasks.append(asyncio.create_task(call(name, priority)))
            await waiters(desk, count)
    await asyncio.gather(*tasks)
    assert order == ["i1", "i2", "b", "bg"]


async def test_a_full_line_refuses_at_once_with_a_delay() -> None:
    desk = admission(depth=1)
    async with holding(desk):
        waiting = asyncio.create_task(_pass(desk, Priority.BATCH))
        await waiters(desk, 1)
        with pytest.raises(Overloaded) as refused:
            await _pass(desk, Priority.BATCH)
        assert refused.value.retry_after_s > 0
        interactive = asyncio.create_task(_pass(desk, Priority.INTERACTIVE))  # its own line has room
        await waiters(desk, 2)
    await asyncio.gather(waiting, interactive)
    assert (desk.running, desk.waiting) == (0, 0)


async def test_a_wait_that_would_miss_the_deadline_is_refused_at_once() -> None:
    desk = admission(depth=10)
    async with desk.admit(Priority.INTERACTIVE, 60):
        await asyncio.sleep(0.05)
    async with holding(desk):
        assert desk.expected_wait_s(Priority.INTERACTIVE) >= 0.05
        with pytest.raises(Overloaded, match="deadline"):
            await _pass(desk, Priority.INTERACTIVE, 0.01)


async def test_nobody_waits_past_the_deadline() -> None:
    desk = admission()
    async with holding(desk):
        with pytest.raises(DeadlineExceeded):
            await _pass(desk, Priority.INTERACTIVE, 0.02)
        assert desk.waiting == 0


async def test_a_caller_that_left_is_skipped_and_its_slot_is_not_lost() -> None:
    desk = admission(depth=5)
    async with holding(desk):
        gone = asyncio.create_task(_pass(desk, Priority.INTERACTIVE))
        stays = asyncio.create_task(_pass(desk, Priority.INTERACTIVE))
        await waiters(desk, 2)
        gone.cancel()
        await waiters(desk, 1)
    await stays
    assert gone.cancelled()
    assert (desk.running, desk.waiting) == (0, 0)


async def test_a_slot_handed_to_one_that_leaves_at_that_moment_goes_on() -> None:
    desk = admission(depth=5)
    async with holding(desk) as release:
        gone = asyncio.create_task(_pass(desk, Priority.INTERACTIVE))
        stays = asyncio.create_task(_pass(desk, Priority.BATCH))
        await waiters(desk, 2)
        release.set()
        while desk.waiting == 2:
            await asyncio.sleep(0)
        gone.cancel()
    async with asyncio.timeout(5):
        await asyncio.wait({gone, stays})
    assert stays.exception() is None
    assert (desk.running, desk.waiting) == (0, 0)


async def test_a_storm_leaves_no_trace() -> None:
    desk = admission(slots=3, depth=50)
    peak = 0

    async def call(number: int) -> None:
        nonlocal peak
        async with desk.admit(Priority(number % 3), 60):
            peak = max(peak, desk.running)
            await asyncio.sleep(0.001 * (number % 3))

    tasks = [asyncio.create_task(call(number)) for number in range(100)]
    await asyncio.sleep(0.005)
    for task in tasks[::4]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert peak == 3
    assert (desk.running, desk.waiting) == (0, 0)


async def _pass(desk: Admission, priority: Priority, seconds: float = 60.0) -> None:
    async with desk.admit(priority, seconds):
        pass
