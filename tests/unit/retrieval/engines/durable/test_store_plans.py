"""What one change costs doesn't grow with the collection: none of its statements reads a whole table."""

import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from services.retrieval.engine import RetrievalEngine
from services.retrieval.engines.durable.engine import DurableEngine
from services.retrieval.types.query import Filter
from tests.contract.retrieval.retrieval_engines import new_document, opened, search

GROWING = ("documents", "d", "chunks", "k", "vectors", "texts", "tokens")
Step = Callable[[RetrievalEngine], Awaitable[object]]


async def put(engine: RetrievalEngine) -> object:
    return await engine.put(new_document("another text", "d1"))


async def put_row(engine: RetrievalEngine) -> object:
    return await engine.put(new_document("a row", "t#1", table_id="t"))


async def delete(engine: RetrievalEngine) -> object:
    return await engine.delete("default", ["d1", "nobody", "t"])


async def read(engine: RetrievalEngine) -> object:
    return await engine.document("default", "d2")


async def page(engine: RetrievalEngine) -> object:
    return await engine.documents("default", "d1", 2)


async def find(engine: RetrievalEngine) -> object:
    return await search(engine, "text", "hybrid", 3)


async def find_by_name(engine: RetrievalEngine) -> object:
    return await search(engine, "text", "dense", 3, chosen=Filter(document_ids=["d2"]))


@pytest.mark.parametrize("step", [put, put_row, delete, read, page, find, find_by_name])
async def test_no_statement_reads_a_whole_table(step: Step, tmp_path: Path) -> None:
    async with opened("durable", tmp_path) as engine:
        assert isinstance(engine, DurableEngine)
        for name in ("d1", "d2", "d3"):
            await engine.put(new_document(f"text of {name}", name))
        said = await traced(engine, step)
    assert said
    with sqlite3.connect(tmp_path / "store.db") as connection:
        plans = {statement: plan_of(connection, statement) for statement in said}
    scans = [f"{plan} in {statement}" for statement, found in plans.items() for plan in found if whole(plan)]
    assert scans == []


async def traced(engine: DurableEngine, step: Step) -> list[str]:
    """Statements that a step runs."""
    said: list[str] = []
    made = sqlite3.connect

    for connection in engine._open_database._connections:
        connection.set_trace_callback(said.append)
    with pytest.MonkeyPatch.context() as patch:

        def connect(*arguments: object, **named: object) -> sqlite3.Connection:
            connection: sqlite3.Connection = made(*arguments, **named)  # type: ignore[call-overload]  # passed on
            connection.set_trace_callback(said.append)
            return connection

        patch.setattr(sqlite3, "connect", connect)
        await step(engine)
    return [it for it in said if it.split()[0] in ("SELECT", "DELETE", "UPDATE")]


def plan_of(connection: sqlite3.Connection, statement: str) -> list[str]:
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]


def whole(plan: str) -> bool:
    """Whether a step reads all of a collection, or of one of the tables that grow with what is kept."""
    how, name, *_ = plan.split()
    return name in GROWING and (how == "SCAN" or plan.endswith("(collection=?)"))
