"""The check after a kill finds what is lost, what should be gone, and an index that differs."""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from bench.crashing.check import check
from bench.crashing.documents import document, embedding
from bench.crashing.driver import engine_on
from bench.crashing.ledger import Ledger
from services.retrieval.engines.durable.engine import DurableEngine


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[DurableEngine]:
    engine = engine_on(tmp_path / "store")
    await engine.open()
    await engine.create("default", embedding())
    for n in range(4):
        await engine.put(document("default", f"d{n}", 1))
    yield engine
    await engine.close()


def ledger_of(*lines: str) -> Ledger:
    ledger = Ledger()
    for line in (*(f"put default d{n} 1" for n in range(4)), *lines):
        ledger.hear(line)
    return ledger


async def look(engine: DurableEngine, tmp_path: Path, *lines: str) -> int:
    return (await check(ledger_of(*lines), engine, tmp_path / "store", random.Random(1))).found


async def test_what_is_as_it_was_said_passes(engine: DurableEngine, tmp_path: Path) -> None:
    assert await look(engine, tmp_path) == 4
    assert await look(engine, tmp_path, "putting default d9 1", "putting default d3 2", "deleting default d2") == 4


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("put default d9 1", "d9"),
        ("put default d3 2", "d3"),
        ("deleted default d2", "d2"),
        ("created c5", "c5"),
    ],
)
async def test_what_was_lost_or_came_back_is_found(engine: DurableEngine, tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        await look(engine, tmp_path, line)


async def test_a_step_that_is_half_done_is_found(engine: DurableEngine, tmp_path: Path) -> None:
    await engine.put_many([document("default", f"t9/{n}", 1) for n in range(2)])
    whole, half = "step t9 default t9/0=1 t9/1=1", "step t9 default t9=gone t9/0=1 t9/1=1 t9/2=1"
    assert await look(engine, tmp_path, whole) == 6
    assert await look(engine, tmp_path, whole, "stepped t9") == 6
    assert await look(engine, tmp_path, whole, "stepped t9", "step t9 default t9=1 t9/0=gone t9/1=gone") == 6
    with pytest.raises(AssertionError, match="step t9 is half done"):
        await look(engine, tmp_path, half)


async def test_an_index_that_differs_is_found(engine: DurableEngine, tmp_path: Path) -> None:
    index = engine._indexes.all()[0].index
    index.change(np.empty(0, np.int64), np.empty((0, index.dimension), np.float32), [1])
    with pytest.raises(AssertionError, match=r"found by dense|index"):
        await look(engine, tmp_path)
