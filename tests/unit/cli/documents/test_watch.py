"""Following a folder: a real folder and real events, a mesh in memory."""

import asyncio
import errno
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console

from citemesh.client.mesh import Mesh
from citemesh.errors import PermissionDenied, PreconditionFailed, Unavailable
from cli.documents import folder, watch
from cli.documents.folder import FolderDifference, Roots, difference, look, settled
from cli.documents.journal import Journal
from cli.documents.watch import Watch, WatchOptions
from cli.documents.watch_view import JsonWatchView, TextWatchView

from .fake_documents import FakeDocuments
from .test_walk import close


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "QUIET_S", 0.05)
    monkeypatch.setattr(watch, "POLL_S", 0.1)
    monkeypatch.setattr(watch, "_FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(folder, "_STEP_MS", 20)
    monkeypatch.setattr(folder, "_DEBOUNCE_MS", 50)
    monkeypatch.setattr(folder, "_SET_UP_S", 0.5)


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "docs"
    made.mkdir()
    (made / "a.md").write_text("one")
    return made


class Told(TextWatchView):
    """The lines for people, kept."""

    def __init__(self) -> None:
        self.out = Console(record=True, file=open(os.devnull, "w"), width=200)  # noqa: SIM115 - closed with the test
        super().__init__(self.out)
        self.is_watching = asyncio.Event()

    def watching(self, files: int) -> None:
        super().watching(files)
        self.is_watching.set()

    @property
    def text(self) -> str:
        return self.out.export_text(clear=False)


@asynccontextmanager
async def following(
    mesh: FakeDocuments, *paths: Path, delete: bool = False, patience_s: float = 60.0, journal: Journal | None = None
) -> AsyncIterator[Told]:
    """A watch that runs; what it raises is raised at the end."""
    told = Told()
    options = WatchOptions(paths, "notes", delete, patience_s)
    task = asyncio.create_task(Watch(options, cast(Callable[[], Mesh], mesh), told, journal).run())
    ready = asyncio.create_task(told.is_watching.wait())
    await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED, timeout=20)
    if task.done():
        task.result()
    try:
        yield told
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_new_and_changed_files_are_taken_in_and_hidden_ones_are_not(docs: Path) -> None:
    mesh = FakeDocuments()
    async with following(mesh, docs) as told:
        (docs / ".swap.md").write_text("x")
        (docs / "a.md~").write_text("x")
        (docs / "~$report.docx").write_text("x")
        (docs / "指南 🍵.md").write_text("茶")
        (docs / "a.md").write_text("two")
        await mesh.until(lambda: mesh.texts == {"docs/a.md": b"two", "docs/指南 🍵.md": "茶".encode()})
        assert "Watching 1 file; Ctrl-C ends it." in told.text
    assert len(mesh.stored) == 2
    assert {upload.collection for upload in mesh.stored.values()} == {"notes"}


async def test_an_editor_that_saves_by_rename_replaces_the_document(docs: Path) -> None:
    mesh = FakeDocuments()
    async with following(mesh, docs, delete=True):
        (docs / ".a.md.tmp").write_text("two")
        os.replace(docs / ".a.md.tmp", docs / "a.md")
        await mesh.until(lambda: mesh.texts == {"docs/a.md": b"two"})


async def test_deleted_files_stay_unless_told_otherwise(docs: Path) -> None:
    mesh = FakeDocuments()
    async with following(mesh, docs) as told:
        (docs / "a.md").rename(docs / "b.md")
        await mesh.until(lambda: "docs/b.md" in mesh.texts)
        assert set(mesh.texts) == {"docs/a.md", "docs/b.md"}
    assert "kept docs/a.md" in told.text


async def test_with_delete_a_renamed_file_is_one_document(docs: Path) -> None:
    mesh = FakeDocuments()
    async with following(mesh, docs, delete=True) as told:
        (docs / "a.md").rename(docs / "b.md")
        await mesh.until(lambda: set(mesh.texts) == {"docs/b.md"})
    assert "deleted docs/a.md" in told.text


async def test_a_folder_moved_in_whole_and_out_again(docs: Path, tmp_path: Path) -> None:
    aside = tmp_path / "aside" / "deep"
    aside.mkdir(parents=True)
    for name in ("x.txt", "y.html", "z.csv", "no.bin"):
        (aside / name).write_text(name)
    mesh = FakeDocuments()
    async with following(mesh, docs, delete=True):
        (tmp_path / "aside").rename(docs / "in")
        await mesh.until(lambda: len(mesh.stored) == 4)
        assert set(mesh.texts) == {"docs/a.md", "docs/in/deep/x.txt", "docs/in/deep/y.html", "docs/in/deep/z.csv"}
        shutil.rmtree(docs / "in")
        await mesh.until(lambda: set(mesh.texts) == {"docs/a.md"})


async def test_a_single_file_is_followed_through_replacement(docs: Path) -> None:
    mesh = FakeDocuments()
    async with following(mesh, docs / "a.md"):
        (docs / "b.md").write_text("not asked for")
        (docs / "new").write_text("two")
        os.replace(docs / "new", docs / "a.md")
        await mesh.until(lambda: mesh.texts == {"docs/a.md": b"two"})


async def test_a_broken_version_leaves_the_old_one_and_is_tried_again_once_it_changes(docs: Path) -> None:
    mesh = FakeDocuments()
    async with following(mesh, docs) as told:
        (docs / "a.md").write_bytes(b"broken")
        await mesh.until(lambda: "failed docs/a.md" in told.text)
        assert mesh.texts == {"docs/a.md": b"one"}
        (docs / "a.md").write_text("mended")
        await mesh.until(lambda: mesh.texts == {"docs/a.md": b"mended"})


async def test_the_mesh_goes_away_and_comes_back(docs: Path) -> None:
    mesh = FakeDocuments()
    async with following(mesh, docs, delete=True) as told:
        mesh.fault = Unavailable("the retrieval service", 0.01)
        (docs / "a.md").write_text("two")
        (docs / "b.md").write_text("three")
        before = mesh.calls
        await mesh.until(lambda: mesh.calls > before + 2)
        assert mesh.texts == {"docs/a.md": b"one"}
        mesh.fault = PreconditionFailed("MESH_NOT_RUNNING", "no mesh runs here")
        await mesh.until(lambda: mesh.calls > before + 4)
        mesh.fault = None
        await mesh.until(lambda: mesh.texts == {"docs/a.md": b"two", "docs/b.md": b"three"})
        await mesh.until(lambda: "the mesh is back" in told.text)
    assert "the mesh is away" in told.text
    assert "no mesh runs here" in told.text


async def test_a_mesh_that_stays_away_is_given_up(docs: Path) -> None:
    mesh = FakeDocuments()
    mesh.fault = Unavailable("the retrieval service", 0.01)
    with pytest.raises(Unavailable):
        async with following(mesh, docs, patience_s=0.05):
            pytest.fail("it watches")
    assert mesh.calls > 2


@pytest.mark.parametrize("fault", [PermissionDenied("not yours"), PreconditionFailed("MESH_NOT_RUNNING", "none")])
async def test_what_waiting_cannot_mend_is_told_at_once(docs: Path, fault: Exception) -> None:
    mesh = FakeDocuments()
    mesh.fault = fault  # type: ignore[assignment]  # both are of the tree
    with pytest.raises(type(fault)):
        async with following(mesh, docs):
            pytest.fail("it watches")
    assert mesh.calls == 1


async def test_what_was_deleted_between_two_watches_goes_with_the_next(docs: Path, tmp_path: Path) -> None:
    mesh = FakeDocuments()
    journal = Journal(tmp_path / "state", [docs], "notes", "")
    (docs / "b.md").write_text("b")
    async with following(mesh, docs, delete=True, journal=journal):
        assert set(mesh.texts) == {"docs/a.md", "docs/b.md"}
    (docs / "b.md").unlink()
    async with following(mesh, docs, delete=True, journal=Journal(tmp_path / "state", [docs], "notes", "")):
        assert set(mesh.texts) == {"docs/a.md"}
    assert Journal(tmp_path / "state", [docs], "other", "").read() == ()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 9, "files": ["a"]}', '{"version": 1}'])
def test_a_journal_that_is_none_holds_nothing(tmp_path: Path, text: str) -> None:
    journal = Journal(tmp_path, [tmp_path], "", "")
    journal.file.parent.mkdir()
    journal.file.write_text(text)
    assert journal.read() == ()


async def test_a_folder_that_goes_away_deletes_nothing(docs: Path, tmp_path: Path) -> None:
    mesh = FakeDocuments()
    async with following(mesh, docs, delete=True) as told:
        os.rename(docs, tmp_path / "unplugged")
        async with asyncio.timeout(20):
            while "waiting for it" not in told.text:  # what others do is polled
                await asyncio.sleep(0.02)
        assert set(mesh.texts) == {"docs/a.md"}
        os.rename(tmp_path / "unplugged", docs)
        (docs / "c.md").write_text("c")
        await mesh.until(lambda: set(mesh.texts) == {"docs/a.md", "docs/c.md"})
    assert "the folder is back" in told.text


async def test_what_lies_in_a_folder_that_cannot_be_read_is_not_gone(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (docs / "sub").mkdir()
    (docs / "sub" / "b.md").write_text("two")
    mesh, scan = FakeDocuments(), os.scandir
    journal = Journal(tmp_path / "state", [docs], "notes", "")
    async with following(mesh, docs, delete=True, journal=journal) as told:
        close(monkeypatch, docs / "sub", PermissionError(errno.EACCES, "denied"))
        (docs / "a.md").unlink()
        await mesh.until(lambda: mesh.texts == {"docs/sub/b.md": b"two"})
    assert "failed docs/sub (UNREADABLE: the folder can't be read)" in told.text
    async with following(mesh, docs, delete=True, journal=journal) as told:
        assert mesh.texts == {"docs/sub/b.md": b"two"}
        monkeypatch.setattr(os, "scandir", scan)
        (docs / "sub" / "b.md").write_text("three")
        await mesh.until(lambda: mesh.texts == {"docs/sub/b.md": b"three"})
    assert "deleted" not in told.text


async def test_where_nothing_tells_of_changes_it_looks(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*paths: Path, **options: object) -> AsyncIterator[object]:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(folder, "awatch", refuses)
    mesh = FakeDocuments()
    async with following(mesh, docs) as told:
        (docs / "b.md").write_text("b")
        await mesh.until(lambda: "docs/b.md" in mesh.texts)
    assert told.text.count("inotify watch limit reached") == 1


def test_only_what_two_looks_agree_on_is_settled(docs: Path) -> None:
    before = look([docs])
    (docs / "b.md").write_text("half")
    (docs / "c.md").write_text("whole")
    (docs / "a.md").unlink()
    found = difference(before, look([docs]))
    assert [seen.file.uri for seen in found.changed] == ["docs/b.md", "docs/c.md"]
    assert found.missing == ("docs/a.md",)
    (docs / "b.md").write_text("half and half")
    (docs / "a.md").write_text("back")
    ready = settled(found, look([docs]))
    assert [seen.file.uri for seen in ready.changed] == ["docs/c.md"]
    assert ready.missing == ()
    assert not FolderDifference((), ())


def test_a_folder_on_another_disk_is_not_the_one(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = Roots([docs])
    assert roots.away() == []
    monkeypatch.setattr(folder, "_device", lambda path: -1)
    assert roots.away() == [docs]


def test_events_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    view = JsonWatchView()
    view.watching(3)
    view.deleted(["a"])
    view.kept(["b"])
    view.away(Unavailable("the mesh"), 2.0)
    view.back(1.23456)
    view.folder_away([Path("x")])
    view.folder_back()
    view.blind("limit", 5.0)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines] == [
        *("watching", "deleted", "kept", "away", "back", "folder_away", "folder_back", "blind"),
    ]
    assert lines[0]["files"] == 3
    assert lines[4]["seconds"] == 1.235
