"""Collections, documents, copies: what the commands ask for, print, and refuse."""

import asyncio
import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from citemesh.client.mesh import Mesh
from citemesh.client.types import Collection, Copied, Document, Span
from citemesh.errors import NotFound
from cli import main
from cli.local_mesh.runtime import Running, write_note
from cli.storage import collection as collection_module
from cli.storage import restore as restore_module
from services.retrieval.embedding.fake import FakeEncoder
from services.retrieval.engines.durable.engine import DurableEngine
from services.retrieval.engines.durable.store.lock import StoreLock
from services.retrieval.types.chunk import Chunk, Place
from services.retrieval.types.document import DocumentInfo, NewDocument

NOTES = Collection("notes", "e5\x1b[2J", 384, 3, 40, 2, "hnsw")
PAGE = Document(
    "d1",
    "notes",
    "Tea\nhouse",
    "tea.md",
    "markdown",
    "en",
    "ab",
    10,
    9,
    2,
    0,
    datetime(2024, 5, 1, tzinfo=UTC),
    {"k": "v"},
)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class FakeCollections:
    """One collection, "notes"."""

    def __init__(self, made: list[tuple[Any, ...]]) -> None:
        self._made = made

    async def list(self) -> tuple[Collection, ...]:
        return (NOTES,)

    async def get(self, name: str) -> Collection:
        if name != "notes":
            raise NotFound("collection", name, "there are: notes")
        return NOTES

    async def create(self, name: str, model: str) -> Collection:
        self._made.append(("create", name, model))
        return Collection(name, model or "e5", 384, 0, 0, 0, "flat")

    async def delete(self, name: str) -> None:
        self._made.append(("delete", name))

    async def snapshot(self, name: str) -> Copied:
        self._made.append(("snapshot", name))
        return Copied("/store/copies/1", 9, 3, 40)


class FakeDocuments:
    """2500 documents, all the same."""

    def __init__(self, made: list[tuple[Any, ...]]) -> None:
        self._made = made

    async def list(self, collection: str, size: int, token: str, table: str) -> tuple[Sequence[Document], str]:
        self._made.append(("list", collection, size, token, table))
        start = int(token or 0)
        return (PAGE,) * min(size, 2500 - start), str(start + size) if start + size < 2500 else ""

    async def get(self, name: str, collection: str, span: Span | None, without_text: bool) -> tuple[Document, str]:
        self._made.append(("get", name, collection, span, without_text))
        return PAGE, "" if without_text else "绿茶\x1b[2J\n80°"

    async def delete(self, ids: Sequence[str], collection: str) -> tuple[Sequence[str], Sequence[str]]:
        self._made.append(("delete", tuple(ids), collection))
        return [one for one in ids if one != "none"], [one for one in ids if one == "none"]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """A store behind every mesh; what was called."""
    made: list[tuple[Any, ...]] = []
    monkeypatch.setattr(Mesh, "collections", property(lambda mesh: FakeCollections(made)))
    monkeypatch.setattr(Mesh, "documents", property(lambda mesh: FakeDocuments(made)))
    return made


def invoke(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, (*words, "--target", "x:1"), input=stdin)


def test_collections_are_listed_shown_and_made(calls: list[tuple[Any, ...]]) -> None:
    result = invoke("collection", "list")
    assert result.stdout.splitlines()[1].split() == ["notes", "3", "40", "2", "hnsw", "e5[2J", "384"]
    assert json.loads(invoke("collection", "show", "notes", "--json").stdout)["unreadable_chunks"] == 2
    assert invoke("collection", "create", "mail", "--embedding-model", "m").exit_code == 0
    assert calls == [("create", "mail", "m")]


def test_an_unknown_collection_names_those_that_exist(calls: list[tuple[Any, ...]]) -> None:
    result = invoke("collection", "show", "nose")
    assert result.exit_code == 1
    assert "there are: notes" in result.stderr


def test_deleting_a_collection_wants_its_name_again(
    calls: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = invoke("collection", "delete", "notes")
    assert alone.exit_code == 2
    assert "--yes" in alone.stderr
    monkeypatch.setattr(collection_module, "_is_asked", lambda: True)
    wrong = invoke("collection", "delete", "notes", stdin="note\n")
    assert wrong.exit_code == 2
    assert "nothing was deleted" in wrong.stderr
    assert calls == []
    right = invoke("collection", "delete", "notes", stdin="notes\n")
    assert "3 documents will be gone" in right.stderr
    assert right.stdout == "deleted notes: 3 documents\n"
    assert invoke("collection", "delete", "notes", "--yes", "--json").exit_code == 0
    assert calls == [("delete", "notes")] * 2


@pytest.mark.slow
def test_documents_are_listed_page_by_page(calls: list[tuple[Any, ...]]) -> None:
    result = invoke("document", "list", "--collection", "notes", "--limit", "1500", "--table", "t", "--json")
    assert len(result.stdout.splitlines()) == 1500
    assert calls == [("list", "notes", 1000, "", "t"), ("list", "notes", 500, "1000", "t")]
    shown = invoke("document", "list", "--limit", "2")
    assert shown.stdout.splitlines()[1].split() == ["d1", "Tea", "house", "markdown", "en", "2", "tea.md"]
    assert "more than 2" in shown.stderr
    assert "more than" not in invoke("document", "list", "--limit", "2500").stderr


def test_a_document_is_shown_with_or_without_its_text(calls: list[tuple[Any, ...]]) -> None:
    facts = invoke("document", "show", "d1").stdout
    assert "Tea house" in facts
    assert "metadata.k" in facts
    assert invoke("document", "show", "d1", "--text").stdout == "绿茶[2J\n80°\n"
    assert json.loads(invoke("document", "show", "d1", "--span", "0", "2", "--json").stdout)["text"].startswith("绿茶")
    assert [call[3:] for call in calls] == [(None, True), (None, False), (Span(0, 2), False)]


def test_documents_are_deleted_in_portions_and_missing_ones_told(calls: list[tuple[Any, ...]]) -> None:
    ids = [f"d{number}" for number in range(1500)]
    assert invoke("document", "delete", *ids).exit_code == 0
    assert [len(call[1]) for call in calls] == [1000, 500]
    result = invoke("document", "delete", "d1", "none")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == ["deleted d1", "not there: none"]


def test_a_copy_says_where_it_is(calls: list[tuple[Any, ...]]) -> None:
    result = invoke("snapshot", "notes")
    assert result.stdout == "/store/copies/1\n3 documents in 40 passages, as of change 9\n"
    assert json.loads(invoke("snapshot", "--json").stdout)["directory"] == "/store/copies/1"
    assert calls == [("snapshot", "notes"), ("snapshot", "")]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a store with two documents, made by the engine itself."""
    folder = tmp_path_factory.mktemp("kept")

    async def make() -> Path:
        engine = DurableEngine(folder / "store")
        await engine.open()
        await engine.create("default", FakeEncoder().embedding)
        for number in range(2):
            await engine.put(fake_document(f"d{number}", f"Green tea number {number} wants eighty degrees."))
        made = await engine.snapshot("")
        await engine.close()
        return made.directory

    return asyncio.run(make())


def fake_document(name: str, text: str) -> NewDocument:
    encoder = FakeEncoder()
    chunk = Chunk(hashlib.sha256(name.encode()).hexdigest()[:32], Place(0, len(text)), text)
    info = DocumentInfo(name, "default", "", "", "text", "en", "0" * 64, 1, len(text), 1, 0, datetime.now(UTC))
    return NewDocument(info, text, [chunk], encoder.embed(encoder.ids([text], "passage")), encoder.embedding)


def restore(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ("restore", *map(str, words)))


def test_a_copy_is_proved_and_restored(copied: Path) -> None:
    proved = restore(copied, "--prove")
    assert proved.stdout.splitlines()[0] == "default: 2 documents in 2 passages"
    assert "nothing was changed" in proved.stdout
    assert not Path(".citemesh/store").exists()
    assert "restored into .citemesh/store" in restore(copied).stdout
    again = restore(copied)
    assert again.exit_code == 1
    assert "--force" in again.stderr
    forced = json.loads(restore(copied, "--force", "--json").stdout)
    assert forced["documents"] == 2
    assert (Path(forced["aside"]) / "store.db").exists()


def test_a_torn_copy_is_refused_and_the_store_stays(copied: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn"
    shutil.copytree(copied, torn)
    with (torn / "store.db").open("r+b") as file:
        file.truncate(8192)
    Path(".citemesh/store").mkdir(parents=True)
    Path(".citemesh/store/store.db").write_text("mine")
    result = restore(torn, "--force")
    assert result.exit_code == 1
    assert "manifest says" in result.stderr
    assert Path(".citemesh/store/store.db").read_text() == "mine"
    assert [path.name for path in Path(".citemesh").iterdir()] == ["store"]


def test_a_store_that_is_open_is_left_alone(copied: Path) -> None:
    store = Path(".citemesh/store")
    store.mkdir(parents=True)
    (store / "store.db").write_text("mine")
    lock = StoreLock(store / "lock")
    lock.acquire()
    result = restore(copied, "--force")
    assert result.exit_code == 1
    assert f"held by process {os.getpid()}" in result.stderr
    lock.release()


def test_restore_refuses_what_is_no_copy_and_a_mesh_that_runs(tmp_path: Path) -> None:
    missing = restore("nowhere")
    assert missing.exit_code == 2
    assert "DIRECTORY: nowhere is no directory" in missing.stderr
    (tmp_path / "copy").mkdir()
    (tmp_path / ".citemesh/run").mkdir(parents=True)
    write_note(Path(".citemesh"), Running(os.getpid(), True, 8080, {}, ""))
    running = restore("copy")
    assert running.exit_code == 1
    assert f"process {os.getpid()}" in running.stderr


def test_a_service_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "copy").mkdir()
    monkeypatch.setattr(restore_module, "_MODULE", "no_such_service")
    result = restore("copy")
    assert result.exit_code == 1
    assert "No module named no_such_service" in result.stderr
    assert "pip install" in result.stderr
