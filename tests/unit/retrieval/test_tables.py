"""Tables: rows as they are written, and their way in as documents of their own."""

import asyncio
import csv
import io
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citemesh.errors import Unavailable
from services.retrieval import commits, pipeline, tables
from services.retrieval.embedding.fake import FakeEncoder
from services.retrieval.embedding.queue import EmbeddingQueue
from services.retrieval.engine import DocumentInfo, Engine, Filter, NewDocument, Query, Vector
from services.retrieval.engines.fake import FakeEngine
from services.retrieval.ingest.budget import Budget
from services.retrieval.ingest.chunk import ChunkSize
from services.retrieval.ingest.dates import date_of
from services.retrieval.ingest.parsed import IngestFault
from services.retrieval.ingest.read import read
from services.retrieval.ingest.reader import DirectReader, ProcessReader
from services.retrieval.ingest.table import Layout, Row
from services.retrieval.ingest.upload import End, Header, Part, Progress, Upload
from services.retrieval.ingest.windows import portions
from services.retrieval.intake import Intake
from services.retrieval.pipeline import Pipeline
from services.retrieval.tokens import NoTokenizer, TokenFiller

from ...contract.retrieval_engines import opened


async def rows_of(
    data: bytes, media_type: str = "", name: str = "", window: int = 64, most_row: int = 4096
) -> list[Row]:
    """All rows, read through small windows."""
    _, layout = read(data, media_type, name)
    assert isinstance(layout, Layout)
    return [row async for portion in portions(DirectReader(), data, layout, window, most_row) for row in portion]


def texts(rows: Sequence[Row]) -> list[str]:
    return [
        row.parsed.text if row.parsed else f"{row.fault.reason}: {row.fault.message}"
        for row in rows
        if row.parsed or row.fault
    ]


def written(cells: Sequence[Sequence[str]], delimiter: str = ",", end: str = "\r\n") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=end).writerows(cells)
    return out.getvalue().encode()


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(CELL, CELL, CELL), max_size=12), st.sampled_from([",", "\t", ";"]), st.integers(8, 200))
@pytest.mark.slow
def test_whatever_was_written_is_read_whatever_the_windows(
    rows: list[tuple[str, str, str]], delimiter: str, window: int
) -> None:
    table = [("first", "second", "third"), *rows]
    data = written(table, delimiter)
    layout = Layout("csv", start=len(written(table[:1], delimiter)), delimiter=delimiter, columns=table[0])

    async def read_all() -> list[Row]:
        return [row async for portion in portions(DirectReader(), data, layout, window) for row in portion]

    found = asyncio.run(read_all())
    assert [row.number for row in found] == list(range(1, len(rows) + 1))
    for row, cells in zip(found, rows, strict=True):
        said = {name: cell for name, cell in zip(table[0], cells, strict=True) if cell}
        assert (dict(row.parsed.metadata) if row.parsed else {}) == {
            k: v for k, v in said.items() if any(map(str.strip, cells))
        }


async def test_columns_are_found_by_their_names() -> None:
    data = '﻿ID,Title,Body,URL,Published At,lang,price\r\n7,"Über ""Tee""","Zeile 1\r\nZeile 2",https://x.org/7,2024-01-31,de,9\r\n'
    (row,) = await rows_of(data.encode(), name="x.csv")
    assert row.parsed is not None
    assert (row.row_id, row.parsed.title, row.parsed.uri) == ("7", 'Über "Tee"', "https://x.org/7")
    assert (row.parsed.text, row.parsed.language) == ("Zeile 1\nZeile 2", "de")
    assert row.parsed.published == "2024-01-31"
    assert row.parsed.metadata == {"ID": "7", "Published At": "2024-01-31", "lang": "de", "price": "9"}


async def test_without_a_text_column_a_row_is_its_columns() -> None:
    rows = await rows_of("国家;首都\n中国;北京\n法国;\n".encode(), "text/csv")
    assert texts(rows) == ["国家: 中国\n首都: 北京", "国家: 法国"]


@pytest.mark.parametrize(
    ("data", "name", "columns", "first"),
    [
        (b"a\tb\n1\t2\n", "x.tsv", ("a", "b"), "a: 1\nb: 2"),
        (b"a;b;c\n1,5;2,5;3\n2,5;1;1\n", "x.csv", ("a", "b", "c"), "a: 1,5\nb: 2,5\nc: 3"),
        (b"a|b\n1|2\n", "x.csv", ("a", "b"), "a: 1\nb: 2"),
        (b"only\nword one\nword two\n", "x.csv", ("only",), "only: word one"),
        (b"1,red\n2,blue\n", "x.csv", ("column 1", "column 2"), "column 1: 1\ncolumn 2: red"),
        (b"a,,a\n1,2,3\n", "x.csv", ("a", "column 2", "a 3"), "a: 1\ncolumn 2: 2\na 3: 3"),
        (b"a,b\r1,2\r3,4\r", "x.csv", ("a", "b"), "a: 1\nb: 2"),
        ("a,b\n中,文\n".encode("utf-16"), "x.csv", ("a", "b"), "a: 中\nb: 文"),
    ],
)
async def test_layouts_are_found_out(data: bytes, name: str, columns: tuple[str, ...], first: str) -> None:
    _, layout = read(data, "", name)
    assert isinstance(layout, Layout)
    assert layout.columns == columns
    assert texts(await rows_of(data, "", name))[0] == first


async def test_a_declared_charset_counts() -> None:
    rows = await rows_of("名,城\n李,京\n".encode("gb18030"), "text/csv; charset=gb18030")
    assert texts(rows) == ["名: 李\n城: 京"]
    with pytest.raises(IngestFault, match="byte"):
        await rows_of(b"a,b\n1,\x81\x20\n", "text/csv; charset=gb18030")


async def test_a_bad_row_fails_alone_with_its_number() -> None:
    data = b'id,text\n1,good\n2,"open"x\n3,too,many\n4\n5,\xff\n,\n6,"a ""quote"""\n7,fine\n8,"never closed\n9,last\n'
    rows = await rows_of(data, "text/csv")
    assert [row.number for row in rows] == list(range(1, 11))
    assert texts(rows) == [
        "good",
        "BROKEN: row 2: its quotes are out of order",
        "BROKEN: row 3: it has 3 cells, and there are 2 columns",
        "id: 4",
        "INVALID_ENCODING: row 5: byte 2 (0xff) is not UTF-8",
        "NO_TEXT: row 6: it holds no text",
        'a "quote"',
        "fine",
        "BROKEN: row 9: a quote is never closed",
        "last",
    ]


async def test_a_row_without_end_is_bad_and_the_next_is_read() -> None:
    data = b'text\n"' + b"x" * 9000 + b"\n" + b"y" * 50 + b"\n" * 9000 + b"z\n"
    found = texts(await rows_of(data, "text/csv"))
    assert found == ["TOO_LARGE: row 1: its end doesn't come within 4096 bytes", "y" * 50, "z"]


async def test_json_lines() -> None:
    lines = [
        '{"_id": 3, "title": "T", "text": "One\\ntwo", "meta": {"tag": ["a", "b"], "n": 1.5}, "no": null}',
        "",
        "[1]",
        "{broken",
        '{"text": ["s1", "s2"], "deep": {"a": {"b": {"c": {"d": {"e": 1}}}}}}',
        '{"text": "\\ud800 \\u0000"}',
        "[" * 100_000,
        '{"n": ' + "9" * 5000 + "}",
        "{}",
    ]
    rows = await rows_of("\n".join(lines).encode(), "application/x-ndjson", most_row=1_000_000)
    assert [row.number for row in rows] == list(range(1, 9))
    first = rows[0].parsed
    assert first is not None
    assert (rows[0].row_id, first.title, first.text) == ("3", "T", "One\ntwo")
    assert first.metadata == {"_id": "3", "meta.tag": "a\nb", "meta.n": "1.5"}
    assert rows[3].parsed is not None and rows[3].parsed.metadata == {"deep.a.b.c.d": '{"e": 1}'}
    assert rows[4].parsed is not None and rows[4].parsed.text == "\ufffd \ufffd"
    assert [row.number for row in rows if row.fault] == [2, 3, 6, 7, 8]


def test_json_lines_are_known_without_a_name() -> None:
    assert read(b'{"a": 1}\n{"a": 2}\n')[0].source_type == "jsonl"
    assert read(b'{"a": 1}\n')[0].source_type == "text"


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("2024-01-31", 2024), ("2024-01-31T10:00:00+0000", 2024), ("20240131", 2024), ("2023/3/1", 2023),
        ("2023年3月1日", 2023), ("2019", 2019), ("1700000000", 2023), ("1700000000000", 2023),
        ("Mon, 02 Jan 2006 15:04:05 +0100", 2006), ("31/01/2024", 0), ("", 0), ("yesterday", 0), ("0001-01-01", 0),
        ("9999-12-31", 0), ("12", 0), ("99999999999999999999", 0), ("2024-13-45", 0), ("x" * 100_000, 0),
    ],
)  # fmt: skip
def test_dates(text: str, year: int) -> None:
    date = date_of(text)
    assert (date.year if date else 0) == year
    assert date is None or date.tzinfo is not None


async def test_a_reader_process_answers_rows_as_they_are() -> None:
    data = written([("id", "text"), *((str(n), f"Row {n} 中文 {'words ' * 20}") for n in range(1500))])
    reader = ProcessReader(1, 1024, 30)
    _, layout = await reader.read(data, "text/csv", "")
    assert isinstance(layout, Layout)
    found = [row async for portion in portions(reader, data, layout, 50_000) for row in portion]
    direct = [row async for portion in portions(DirectReader(), data, layout, 70_000) for row in portion]
    assert found == direct
    assert len(found) == 1500
    await reader.close()


class Ingest:
    """A pipeline over an engine, with readers in this process."""

    def __init__(self, engine: Engine, unreadable: str = "") -> None:
        self.engine = engine
        self.queue = EmbeddingQueue(lambda: FakeEncoder(unreadable=unreadable))
        filler = TokenFiller(engine, NoTokenizer(), 60)
        self.pipeline = Pipeline(engine, DirectReader(), self.queue, filler, ChunkSize(64, 8))
        self.reports: list[Progress] = []

    async def take(self, data: bytes, media_type: str = "text/csv", document_id: str = "t", **more: Any) -> Progress:
        self.reports = []
        header = Header("c", "default", document_id, media_type=media_type, **more)

        async def report(progress: Progress) -> None:
            self.reports.append(progress)

        await self.pipeline.ingest(Upload(header, data), report)
        return self.reports[-1]

    async def stored(self) -> dict[str, DocumentInfo]:
        return {it.document_id: it for it in await self.engine.documents("default", "", 1000)}

    async def found(self, words: str) -> list[str]:
        vector: Vector = self.queue.encoder.embed(self.queue.encoder.ids([words], "query"))[0]
        query = Query("default", words, 10, vector, self.queue.encoder.embedding, "lexical", Filter())
        return [it.document.document_id for it in (await self.engine.search(query)).found]


@asynccontextmanager
async def ingesting(kind: str, folder: Path) -> AsyncIterator[Ingest]:
    async with opened(kind, folder) as engine:
        ingest = Ingest(engine)
        await ingest.queue.start()
        yield ingest
        await ingest.queue.stop()


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
    class Slow(FakeEngine):
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


async def test_what_the_model_cannot_read_is_said(tmp_path: Path) -> None:
    async with opened("durable", tmp_path) as engine:
        ingest = Ingest(engine, unreadable="绿茶要用水冲泡")
        await ingest.queue.start()
        one = await ingest.take("绿茶要用水冲泡".encode(), "text/plain", "one")
        assert one.state == "committed"
        assert one.notices[0].startswith("1 of 1 chunks can't be read by the embedding model")
        table = await ingest.take("id,text\n1,绿茶要用水\n2,Green tea\n".encode())
        assert table.notices[0].startswith("1 of 2 chunks")
        assert (await ingest.take(b"Green tea", "text/plain", "two")).notices == ()
        assert (await engine.collection("default")).unreadable_chunks == 2
        await ingest.queue.stop()


async def test_a_books_worth_of_chunks_has_no_token_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_MOST_TOKEN_VECTORS", 12)
    monkeypatch.setattr(pipeline, "_PORTION", 5)
    engine = FakeEngine()
    kept: dict[str, list[bool]] = {}

    async def put_many(documents: Sequence[NewDocument]) -> int:
        for document in documents:
            kept[document.info.document_id] = [bool(chunk.token_vectors.packed) for chunk in document.chunks]
        return await FakeEngine.put_many(engine, documents)

    monkeypatch.setattr(engine, "put_many", put_many)
    ingest = Ingest(engine)
    await ingest.queue.start()
    await engine.create("default", ingest.queue.encoder.embedding)
    for name, sentences in (("short", 60), ("long", 200)):
        text = " ".join(f"Sentence {n} of {name} words." for n in range(sentences))
        assert (await ingest.take(text.encode(), "text/plain", name)).state == "committed"
    assert 5 < len(kept["short"]) <= 12 < len(kept["long"])
    assert all(kept["short"])
    assert not any(kept["long"])
    await ingest.queue.stop()


async def test_small_documents_of_one_stream_share_commits() -> None:
    """What is ready while a commit is made goes into the next, and each is told once its own is made."""

    class Held(FakeEngine):
        def __init__(self) -> None:
            super().__init__()
            self.go = asyncio.Event()
            self.groups: list[list[str]] = []

        async def put_many(self, documents: Sequence[NewDocument]) -> int:
            self.groups.append([it.info.document_id for it in documents])
            await self.go.wait()
            return await super().put_many(documents)

    engine = Held()
    ingest = Ingest(engine)
    await ingest.queue.start()
    await engine.create("default", ingest.queue.encoder.embedding)
    intake = Intake(ingest.pipeline, Budget(16, 1 << 20), 1 << 16, 10)

    async def parts() -> AsyncIterator[Part]:
        for n in range(6):
            yield Header(f"c{n}", "default", f"d{n}", media_type="text/plain")
            yield f"Small document number {n}.".encode()
            yield End()

    states: list[str] = []
    async for report in intake.run(parts()):
        assert report.state != "committed" or engine.go.is_set()
        states.append(report.state)
        if states.count("embedded") == 6:
            engine.go.set()
    assert states.count("committed") == 6
    assert [len(group) for group in engine.groups] == [1, 5]
    assert set(await ingest.stored()) == {f"d{n}" for n in range(6)}
    await ingest.queue.stop()
