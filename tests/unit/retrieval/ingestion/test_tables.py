"""Tables on their way in: each row is a document of its own."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from citemesh.errors import Unavailable
from services.retrieval.engines.fake import FakeRetrievalEngine
from services.retrieval.ingestion import commits, tables
from services.retrieval.types.document import NewDocument

from .ingesting import Ingest, ingesting, written


@pytest.fixture(params=["fake", "durable"])
async def ingest(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ingest]:
    async with ingesting(request.param, tmp_path) as made:
        yield made


TABLE = written(
    [("id", "text", "title", "colour"), ("a", "About apples", "Apples", "red"), ("b", "About bananas", "", "yellow"),
     ("c", "About cherries", "Cherries", "red")]
)  # fmt: skip


async def test_each_row_is_a_document(ingest: Ingest) -> None:
    last = await ingest.take(TABLE, title="Fruit", uri="https://x.org/fruit.csv", metadata={"from": "test"})
    assert (last.state, last.rows, last.failed_rows, last.chunks, last.fault) == ("committed", 3, 0, 3, None)
    assert [it.state for it in ingest.reports] == ["parsed", "committed"]
    stored = await ingest.stored()
    assert list(stored) == ["t#a", "t#b", "t#c"]
    assert [it.title for it in stored.values()] == ["Apples", "Fruit b", "Cherries"]
    row = stored["t#a"]
    assert (row.table_id, row.source_type, row.uri) == ("t", "csv", "https://x.org/fruit.csv")
    assert (row.metadata["from"], row.metadata["colour"], row.size_bytes) == ("test", "red", 27)
    assert await ingest.found("bananas") == ["t#b"]
    assert (await ingest.engine.delete("default", ["t"])).deleted
    assert not await ingest.stored()


async def test_a_table_that_is_sent_again_is_gone_on_with(ingest: Ingest) -> None:
    await ingest.take(TABLE)
    before = await ingest.stored()
    assert (await ingest.take(TABLE)).state == "unchanged"
    assert await ingest.stored() == before
    changed = TABLE.replace(b"bananas", b"blackberries").replace(b"c,About cherries", b"d,About dates")
    last = await ingest.take(changed)
    assert (last.state, last.rows, last.chunks) == ("committed", 3, 2)
    after = await ingest.stored()
    assert list(after) == ["t#a", "t#b", "t#d"]
    assert after["t#a"] == before["t#a"]
    assert await ingest.found("bananas") == []
    renamed = changed.replace(b"colour", b"color")
    assert (await ingest.take(renamed)).chunks == 3, "under other columns a row is another document"


async def test_rows_that_fail_leave_the_rest(ingest: Ingest) -> None:
    await ingest.take(TABLE)
    last = await ingest.take(
        TABLE.replace(b"b,About bananas", b'b,"About" bananas') + b"a,again,,\r\nd,About dates,,\r\n"
    )
    assert (last.state, last.rows, last.failed_rows) == ("committed", 3, 2)
    assert last.fault is not None and last.fault.message.startswith("row 2:")
    assert "1 rows of before were kept" in last.notices[0]
    assert list(await ingest.stored()) == ["t#a", "t#b", "t#c", "t#d"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"id,text\n", "NO_TEXT"), (b"id,text\n,\n,\n", "NO_TEXT"), (b'"a', "BROKEN"), (b"\n\n", "BROKEN")],
)
async def test_a_table_without_a_good_row_fails(ingest: Ingest, data: bytes, reason: str) -> None:
    await ingest.take(TABLE)
    last = await ingest.take(data)
    assert (last.state, last.fault and last.fault.reason) == ("failed", reason)
    assert list(await ingest.stored()) == ["t#a", "t#b", "t#c"]


async def test_a_table_and_a_document_take_each_others_place(ingest: Ingest) -> None:
    await ingest.take(b"One document about peaches.", "text/plain")
    await ingest.take(b"Another about rows.", "text/plain", "other")
    assert (await ingest.take(TABLE)).state == "committed"
    assert list(await ingest.stored()) == ["other", "t#a", "t#b", "t#c"]
    assert await ingest.found("peaches") == []
    assert (await ingest.take(b"One document about peaches.", "text/plain")).state == "committed"
    assert list(await ingest.stored()) == ["other", "t"]
    assert await ingest.found("apples") == []


async def test_a_table_that_breaks_off_leaves_the_document_that_it_was_to_replace(
    ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ingest.take(b"One document about peaches.", "text/plain")
    before = await ingest.stored()

    async def full(documents: Sequence[NewDocument]) -> int:
        raise Unavailable("the store", remedy="make room on the disk")

    for name in ("put", "put_many"):
        monkeypatch.setattr(ingest.engine, name, full)
    last = await ingest.take(TABLE)
    assert (last.state, last.rows, last.fault and last.fault.reason) == ("failed", 0, "STORAGE")
    monkeypatch.undo()
    assert await ingest.stored() == before
    assert await ingest.found("peaches") == ["t"]


async def test_rows_are_reported_once_their_group_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_REPORT_EVERY_S", 0.0)
    monkeypatch.setattr(tables, "_CHUNKS_AT_ONCE", 8)
    monkeypatch.setattr(commits, "MOST_DOCUMENTS", 3)
    async with ingesting("durable", tmp_path) as ingest:
        groups: list[int] = []
        put_many = ingest.engine.put_many

        async def counted(documents: Sequence[NewDocument]) -> int:
            assert all(progress.rows <= sum(groups) for progress in ingest.reports)
            number = await put_many(documents)
            groups.append(len(documents))
            return number

        monkeypatch.setattr(ingest.engine, "put_many", counted)
        data = b"\n".join(json.dumps({"text": f"Row number {n} is here."}).encode() for n in range(40))
        last = await ingest.take(data, "application/jsonl")
        assert (last.rows, sum(groups), max(groups)) == (40, 40, 3)
        assert len(await ingest.stored()) == 40


async def test_rows_have_ids_that_can_be_kept(ingest: Ingest) -> None:
    data = written([("id", "text"), ("x" * 600, "too long"), ("a\u202eb", "hidden"), ("", "number"), ("中", "good")])
    last = await ingest.take(data)
    assert (last.rows, last.failed_rows) == (2, 2)
    assert sorted(await ingest.stored()) == ["t#3", "t#中"]


@pytest.mark.slow
async def test_progress_comes_now_and_then(tmp_path: Path) -> None:
    async with ingesting("fake", tmp_path) as ingest:
        data = b"\n".join(json.dumps({"text": f"Row number {n} " * 8}).encode() for n in range(2_500))
        started = time.monotonic()
        last = await ingest.take(data, "application/jsonl")
        assert (last.state, last.rows) == ("committed", 2_500)
        assert len(ingest.reports) <= 3 + (time.monotonic() - started)
        assert all(a.rows <= b.rows for a, b in zip(ingest.reports, ingest.reports[1:], strict=False))


@pytest.mark.slow
async def test_a_cancelled_table_keeps_whole_rows_and_can_be_gone_on_with(tmp_path: Path) -> None:
    class Slow(FakeRetrievalEngine):
        puts = 0
        reached = asyncio.Event()

        async def put_many(self, documents: Sequence[NewDocument]) -> int:
            self.puts += len(documents)
            if self.puts > 300 and not self.reached.is_set():
                self.reached.set()
                await asyncio.Event().wait()
            return await super().put_many(documents)

    engine = Slow()
    ingest = Ingest(engine)
    await ingest.queue.start()
    await engine.create("default", ingest.queue.encoder.embedding)
    data = b"\n".join(json.dumps({"text": f"Row number {n} " * 20}).encode() for n in range(1000))
    taking = asyncio.create_task(ingest.take(data, "application/jsonl"))
    await asyncio.wait_for(engine.reached.wait(), 20)
    taking.cancel()
    await asyncio.gather(taking, return_exceptions=True)
    kept = await ingest.stored()
    assert 0 < len(kept) <= 300
    assert not [task for task in asyncio.all_tasks() if "Table._keep" in repr(task)]
    last = await ingest.take(data, "application/jsonl")
    assert (last.state, last.rows) == ("committed", 1000)
    await ingest.queue.stop()
