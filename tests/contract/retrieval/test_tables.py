"""What the retrieval service promises of tables, books and word processors' documents, over a real socket."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from citemesh.client.types import Upload
from tests.contract.retrieval.retrieval_service import Service, serving, settings_for
from tests.unit.retrieval.ingestion.read.archives import FILES

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.fixture(params=["fake", "durable"])
async def service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(settings_for(request.param, tmp_path)) as made:
        yield made


def lines(count: int, word: str = "tea") -> bytes:
    return b"\n".join(json.dumps({"id": n, "text": f"Row {n} is about {word}{n}."}).encode() for n in range(count))


async def test_a_table_becomes_documents(service: Service) -> None:
    upload = Upload("t", lines(300), document_id="rows", media_type="application/jsonl", title="Teas")
    reports = (await service.ingest(upload))["t"]
    assert reports[-1].state == "committed"
    assert (reports[-1].rows, reports[-1].failed_rows, reports[-1].chunks) == (300, 0, 300)
    listed, _ = await service.mesh.documents.list(page_size=1000, table_id="rows")
    assert len(listed) == 300
    assert {it.table_id for it in listed} == {"rows"}
    found = (await service.mesh.retrieval.search("tea123", mode="lexical"))[0]
    assert (found.document_id, found.title, found.text) == ("rows#123", "Teas 123", "Row 123 is about tea123.")
    again = (await service.last(upload))["t"]
    assert (again.state, again.rows) == ("unchanged", 300)
    fewer = (await service.last(Upload("t", lines(10), document_id="rows", media_type="application/jsonl")))["t"]
    assert (fewer.state, fewer.rows) == ("committed", 10)
    assert (await service.mesh.collections.get("default")).documents == 10
    await service.mesh.documents.delete(["rows"])
    assert (await service.mesh.collections.get("default")).documents == 0


async def test_bad_rows_are_told_and_the_rest_is_kept(service: Service) -> None:
    data = b'id,text\n1,good\n2,"bad"x\n3,too,many\n4,good as well\n'
    last = (await service.last(Upload("t", data, document_id="t", media_type="text/csv")))["t"]
    assert (last.state, last.rows, last.failed_rows) == ("committed", 2, 2)
    assert (last.error_reason, last.error_message) == ("BROKEN", "row 2: its quotes are out of order")


async def test_documents_of_all_kinds_come_in_one_stream(service: Service) -> None:
    last = await service.last(
        Upload("w", (FILES / "report.docx").read_bytes(), uri="https://x.org/report.docx", media_type=DOCX),
        Upload("b", (FILES / "report.epub").read_bytes(), uri="https://x.org/report.epub"),
        Upload("c", b"def brew():\n    return 80\n", uri="https://x.org/brew.py"),
        Upload("x", (FILES / "report.docx").read_bytes(), document_id="x", media_type="application/epub+zip"),
        Upload("r", b"name,degrees\ngreen,80\n", uri="https://x.org/t.csv"),
    )
    assert [last[it].state for it in "wbcr"] == ["committed"] * 4
    assert (last["x"].state, last["x"].error_reason) == ("failed", "TYPE_MISMATCH")
    listed, _ = await service.mesh.documents.list()
    assert sorted(it.source_type for it in listed) == ["code", "csv", "docx", "epub"]
    found = await service.mesh.retrieval.search("eighty degrees", mode="lexical", source_types=["docx"])
    assert found[0].title == "A report on tea"
    assert "eighty degrees" in found[0].text


async def test_windows_slide_over_a_document(tmp_path: Path) -> None:
    settings = settings_for("durable", tmp_path, chunking="window", window_tokens=512, window_overlap=0.25)
    text = "\n\n".join(f"# Part {n}\n\nSentence {n} of this text says word{n}." for n in range(200))
    async with serving(settings) as service:
        last = (await service.last(Upload("a", text.encode(), media_type="text/markdown")))["a"]
        assert last.state == "committed"
        found = await service.mesh.retrieval.search("word150", top_k=100, mode="lexical")
        assert 1 <= len(found) <= 2
        assert all(text[it.location.span.start : it.location.span.end] == it.text for it in found)
        assert await service.mesh.retrieval.search("word150", mode="dense")
