"""Ingestion against a client that behaves as retrieval may: in order, out of order, broken off, refusing."""

import io
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console

from citemesh.client.mesh import Mesh
from citemesh.client.types import IngestProgress, Upload
from citemesh.errors import PermissionDenied, Unavailable
from cli.documents import ingestion_run as module
from cli.documents.ingestion_run import IngestionRun
from cli.documents.ingestion_view import Bars, Totals, item_json, outcome, summarise
from cli.documents.walk import walk

Act = Callable[[int, Upload], list[IngestProgress]]


class FakeMesh:
    """Documents of a mesh; `act` says what becomes of an upload, given how many streams were opened before."""

    def __init__(self, act: Act) -> None:
        self._act = act
        self.streams = 0
        self.uploads: list[Upload] = []
        self.documents = self

    async def ingest(self, uploads: AsyncIterator[Upload]) -> AsyncIterator[IngestProgress]:
        self.streams += 1
        async for upload in uploads:
            self.uploads.append(upload)
            for report in self._act(self.streams, upload):
                yield report


def report(upload: Upload, state: str, chunks: int = 0, reason: str = "") -> IngestProgress:
    return IngestProgress(upload.correlation_id, "id", state, chunks, 10, reason, reason and "why", reason and "do")


def commits(stream: int, upload: Upload) -> list[IngestProgress]:
    return [report(upload, "received"), report(upload, "chunked", 3), report(upload, "committed", 3)]


async def taken(tmp_path: Path, act: Act, replace: bool = False) -> tuple[IngestionRun, FakeMesh]:
    for name in ("a.md", "b.md", "c.md"):
        (tmp_path / name).write_text(name)
    intake, mesh = IngestionRun.of(walk([tmp_path], tmp_path), "notes", replace), FakeMesh(act)
    await intake.run(cast(Mesh, mesh))
    return intake, mesh


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST_WAIT_S", 0.0)


async def test_everything_is_sent_and_followed(tmp_path: Path) -> None:
    intake, mesh = await taken(tmp_path, commits)
    assert [(item.state, item.chunks, item.document_id) for item in intake.items] == [("committed", 3, "id")] * 3
    first = mesh.uploads[0]
    assert (first.uri, first.data, first.collection, first.document_id) == ("a.md", b"a.md", "notes", "")


async def test_replace_names_documents_by_their_path(tmp_path: Path) -> None:
    _, mesh = await taken(tmp_path, commits, replace=True)
    assert len({upload.document_id for upload in mesh.uploads}) == 3
    _, again = await taken(tmp_path, commits, replace=True)
    assert [u.document_id for u in again.uploads] == [u.document_id for u in mesh.uploads]


async def test_a_stream_that_breaks_is_taken_up_again_for_the_rest(tmp_path: Path) -> None:
    def breaks(stream: int, upload: Upload) -> list[IngestProgress]:
        if stream == 1 and upload.uri == "b.md":
            raise Unavailable("retrieval", 0.001)
        return commits(stream, upload)

    intake, mesh = await taken(tmp_path, breaks)
    assert not intake.failed
    assert [upload.uri for upload in mesh.uploads] == ["a.md", "b.md", "b.md", "c.md"]


async def test_a_mesh_that_stays_away_is_given_up(tmp_path: Path) -> None:
    def away(stream: int, upload: Upload) -> list[IngestProgress]:
        raise Unavailable("retrieval", 0.001)

    with pytest.raises(Unavailable):
        await taken(tmp_path, away)


async def test_a_refusal_is_not_tried_again(tmp_path: Path) -> None:
    streams: list[int] = []

    def refuses(stream: int, upload: Upload) -> list[IngestProgress]:
        streams.append(stream)
        raise PermissionDenied("no")

    with pytest.raises(PermissionDenied):
        await taken(tmp_path, refuses)
    assert streams == [1]


async def test_a_document_that_fails_lets_the_others_in(tmp_path: Path) -> None:
    def one_fails(stream: int, upload: Upload) -> list[IngestProgress]:
        return [report(upload, "failed", reason="EMPTY")] if upload.uri == "b.md" else commits(stream, upload)

    intake, _ = await taken(tmp_path, one_fails)
    assert [(item.file.uri, item.reason, item.message, item.remedy) for item in intake.failed] == [
        ("b.md", "EMPTY", "why", "do")
    ]


async def test_silence_about_a_document_is_a_failure(tmp_path: Path) -> None:
    intake, _ = await taken(tmp_path, lambda stream, upload: [])
    assert {item.reason for item in intake.failed} == {"INCOMPLETE"}
    assert len(intake.failed) == 3


async def test_a_huge_file_is_not_read_and_a_vanished_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 3)
    (tmp_path / "ok.md").write_text("abc")
    (tmp_path / "big.md").write_text("abcd")
    (tmp_path / "gone.md").write_text("abc")
    intake = IngestionRun.of(walk([tmp_path], tmp_path))
    (tmp_path / "gone.md").unlink()
    mesh = FakeMesh(commits)
    await intake.run(cast(Mesh, mesh))
    assert {item.file.uri: item.reason for item in intake.failed} == {"big.md": "TOO_LARGE", "gone.md": "UNREADABLE"}
    assert [upload.uri for upload in mesh.uploads] == ["ok.md"]


async def test_rows_of_a_table_are_counted_and_its_failed_ones_told(tmp_path: Path) -> None:
    def table(stream: int, upload: Upload) -> list[IngestProgress]:
        mark = upload.correlation_id
        early = IngestProgress(mark, "id", "chunked", 40, 10, rows=40)
        last = IngestProgress(mark, "id", "committed", 98, 10, "BROKEN", "row 7: no end", "mend it", 98, 2, ("half",))
        return [early, last] if upload.uri == "b.md" else commits(stream, upload)

    intake, _ = await taken(tmp_path, table)
    (faulty,) = intake.faulty
    assert not intake.failed
    assert (faulty.state, faulty.rows, faulty.failed_rows, faulty.notices) == ("committed", 98, 2, ("half",))
    assert outcome(faulty) == "98 rows, 98 chunks, 2 rows failed"
    shown = item_json(faulty)
    assert (shown["rows"], shown["failed_rows"], shown["error"]["message"]) == (98, 2, "row 7: no end")


def test_sums_are_kept_up_and_a_tables_rows_count_as_they_come(tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("x" * 10)
    items = IngestionRun.of(walk([tmp_path], tmp_path)).items
    totals = Totals(items)
    assert totals.seconds_left is None
    items[0].take(IngestProgress("0", "id", "chunked", 5, 10))
    totals.take(items[0])
    assert (totals.done, totals.chunks) == (0, 0)
    items[1].take(IngestProgress("1", "id", "chunked", 7, 10, rows=7))
    totals.take(items[1])
    assert totals.chunks == 7
    for item in items:
        item.take(IngestProgress("", "id", "committed", 9, 10, rows=item.rows))
        totals.take(item)
        totals.take(item)
    assert (totals.done, totals.chunks, totals.seconds_left) == (2, 18, None)


def test_a_summary_tells_rows_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x")
    (item,) = IngestionRun.of(walk([tmp_path], tmp_path)).items
    item.take(IngestProgress("0", "id", "committed", 9, 10, "BROKEN", "row 7: no end.", "mend it", 9, 1))
    out = Console(record=True, file=io.StringIO(), width=100)
    summarise(out, [item], 75.0)
    text = out.export_text()
    assert "1 taken in (9 rows, 9 chunks) in 1 min 15 s" in text
    assert "a.csv: 1 row " in text
    assert "row 7: no end; mend it" in text


def test_bars_show_documents_their_rate_and_the_time_left(tmp_path: Path) -> None:
    for name in ("a.md", "b.md", "c.md"):
        (tmp_path / name).write_text("x" * 10)
    items = IngestionRun.of(walk([tmp_path], tmp_path)).items
    out = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    with Bars(out, items) as bars:
        bars._totals._started -= 10  # so long it took
        items[0].take(IngestProgress("0", "id", "committed", 40, 10, notices=("half",)))
        bars.update(items[0])
        items[1].take(IngestProgress("1", "id", "chunked", 5, 10))
        bars.update(items[1])
        shown = text_of(bars)
        assert "1/3" in shown
        assert re.search(r"[34]\.\d chunks/s, 2\d\.\d s left", shown)
        assert "b.md" in shown
        assert "chunked" in shown
        assert "a.md" not in shown
        for item in items[1:]:
            item.take(IngestProgress("", "id", "committed", 5, 10))
            bars.update(item)
        assert "3/3" in text_of(bars)
        assert "left" not in text_of(bars)
    assert "half" in cast(io.StringIO, out.file).getvalue()


def text_of(bars: Bars) -> str:
    """What the bars look like now."""
    page = Console(record=True, file=io.StringIO(), width=120)
    page.print(bars._progress.get_renderable())
    return page.export_text()
