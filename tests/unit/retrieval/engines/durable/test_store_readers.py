"""Readers of the store: the one that was used last goes first, and who leaves or waits at the end breaks nothing."""

import asyncio
import threading
from pathlib import Path

import pytest

from citemesh.errors import Unavailable
from services.retrieval.engines.durable.store.database import StoreDatabase


def name(_: object) -> str:
    return threading.current_thread().name


async def test_one_after_the_other_is_read_by_the_same_thread(tmp_path: Path) -> None:
    database = StoreDatabase(tmp_path / "store.db", readers=3)
    assert len({await database.read(name) for _ in range(10)}) == 1
    await database.close(last=lambda _: None)


async def test_as_many_read_at_once_as_there_are_readers_and_who_left_is_stepped_around(tmp_path: Path) -> None:
    database, gate = StoreDatabase(tmp_path / "store.db", readers=2), threading.Barrier(2)
    met = await asyncio.wait_for(asyncio.gather(*(database.read(lambda _: gate.wait(10)) for _ in range(4))), 10)
    assert sorted(met) == [0, 0, 1, 1]
    held, begun = threading.Event(), threading.Event()

    def long(_: object) -> None:
        begun.set()
        held.wait(10)

    left = asyncio.create_task(database.read(long))
    assert await asyncio.to_thread(begun.wait, 10)
    left.cancel()
    await asyncio.gather(left, return_exceptions=True)
    for _ in range(3):
        await asyncio.wait_for(database.read(name), 10)
    held.set()
    await database.close(last=lambda _: None)


async def test_who_waits_when_the_store_closes_is_refused(tmp_path: Path) -> None:
    database, held, begun = StoreDatabase(tmp_path / "store.db", readers=1), threading.Event(), threading.Event()

    def long(_: object) -> int:
        begun.set()
        held.wait(10)
        return 1

    first = asyncio.create_task(database.read(long))
    assert await asyncio.to_thread(begun.wait, 10)
    second = asyncio.create_task(database.read(name))
    await asyncio.sleep(0)
    closing = asyncio.create_task(database.close(last=lambda _: held.set()))
    assert await asyncio.wait_for(first, 10) == 1
    with pytest.raises(Unavailable):
        await asyncio.wait_for(second, 10)
    await closing
