"""Rows of tables as they are written."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.retrieval.ingestion.read.dates import date_of
from services.retrieval.ingestion.read.document import read
from services.retrieval.ingestion.read.parsed import IngestFault
from services.retrieval.ingestion.read.process.reader import DirectReader, ProcessReader
from services.retrieval.ingestion.read.tables.table import TableLayout, TableRow
from services.retrieval.ingestion.read.tables.windows import portions

from .ingesting import written


async def rows_of(
    data: bytes, media_type: str = "", name: str = "", window: int = 64, most_row: int = 4096
) -> list[TableRow]:
    """All rows, read through small windows."""
    _, layout = read(data, media_type, name)
    assert isinstance(layout, TableLayout)
    return [row async for portion in portions(DirectReader(), data, layout, window, most_row) for row in portion]


def texts(rows: Sequence[TableRow]) -> list[str]:
    said = [(row.parsed.text if row.parsed else "", row.fault) for row in rows]
    return [f"{fault.reason}: {fault.message}" if fault else text for text, fault in said]


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(CELL, CELL, CELL), max_size=12), st.sampled_from([",", "\t", ";"]), st.integers(8, 200))
@pytest.mark.slow
def test_whatever_was_written_is_read_whatever_the_windows(
    rows: list[tuple[str, str, str]], delimiter: str, window: int
) -> None:
    table = [("first", "second", "third"), *rows]
    data = written(table, delimiter)
    layout = TableLayout("csv", start=len(written(table[:1], delimiter)), delimiter=delimiter, columns=table[0])

    async def read_all() -> list[TableRow]:
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
    assert isinstance(layout, TableLayout)
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
    assert isinstance(layout, TableLayout)
    found = [row async for portion in portions(reader, data, layout, 50_000) for row in portion]
    direct = [row async for portion in portions(DirectReader(), data, layout, 70_000) for row in portion]
    assert found == direct
    assert len(found) == 1500
    await reader.close()
