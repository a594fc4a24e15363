"""Copies of a store while it serves, and stores made of copies."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from citemesh.errors import DataLoss, NotFound, PreconditionFailed
from citemesh.models.manifest import sha256_of
from services.retrieval import restore as command
from services.retrieval.engine import RetrievalEngine
from services.retrieval.engines.durable.engine import DurableEngine
from services.retrieval.engines.durable.store import schema
from services.retrieval.engines.durable.store.backup import manifest
from services.retrieval.engines.durable.store.backup.restore import restore, verify
from services.retrieval.types.collection import StoreCopy
from tests.contract.retrieval.retrieval_engines import EMBEDDING, ids_of, new_document, opened, search


async def fill(engine: RetrievalEngine) -> None:
    await engine.create("notes", EMBEDDING)
    for n in range(12):
        collection = "notes" if n % 3 == 0 else "default"
        await engine.put(new_document(f"number {n} speaks of word{n} " * 20, f"d{n}", collection))
    await engine.put(new_document("!!! ... ???", "signs"))
    await engine.put(new_document("北京是中国的首都。", "china", unreadable=[0]))


@pytest.fixture
async def copied(tmp_path: Path) -> StoreCopy:
    async with opened("durable", tmp_path / "store") as engine:
        await fill(engine)
        return await engine.snapshot("")


async def test_a_copy_becomes_a_store_that_finds_everything(copied: StoreCopy, tmp_path: Path) -> None:
    assert copied.documents == 14
    told, proof = restore(copied.directory, tmp_path / "again" / "store")
    assert (proof.documents, proof.chunks, proof.wordless) == (14, copied.chunks, 1)
    assert told.sequence == copied.sequence
    async with opened("durable", tmp_path / "again" / "store") as engine:
        for n in range(12):
            collection = "notes" if n % 3 == 0 else "default"
            for mode in ("lexical", "dense"):
                found = await search(engine, f"speaks of word{n}", mode, 3, collection)  # type: ignore[arg-type]  # text
                assert f"d{n}" in ids_of(found)
        assert (await engine.collection("default")).unreadable_chunks == 1
        await engine.put(new_document("after that", "after"))


async def test_a_copy_of_one_collection_holds_nothing_of_another(tmp_path: Path) -> None:
    async with opened("durable", tmp_path / "store") as engine:
        await fill(engine)
        copied = await engine.snapshot("notes")
        with pytest.raises(NotFound, match="default"):
            await engine.snapshot("nobody")
    assert copied.documents == 4
    assert [it.name for it in verify(copied.directory)[1].collections] == ["notes"]
    data = (copied.directory / manifest.DATABASE).read_bytes()
    assert b"word3" in data
    assert b"word1 " not in data
    assert sorted(path.name for path in copied.directory.iterdir()) == [manifest.NAME, manifest.DATABASE]


async def test_copies_are_whole_while_everything_goes_on(tmp_path: Path) -> None:
    async with opened("durable", tmp_path / "store") as engine:
        stop, acknowledged = asyncio.Event(), [0]

        async def change() -> None:
            while not stop.is_set():
                n = acknowledged[0]
                await engine.put(new_document(f"number {n} has word{n}", f"d{n}"))
                acknowledged[0] += 1
                if n % 4 == 3:
                    await engine.delete("default", [f"d{n - 1}"])

        changing = asyncio.create_task(change())
        for _ in range(4):
            before = acknowledged[0]
            copied = await engine.snapshot("")
            assert copied.documents >= before - before // 4 - 1
            proof = await asyncio.to_thread(verify, copied.directory)
            assert proof[1].documents == copied.documents
        stop.set()
        await changing


async def test_a_copy_that_nobody_waits_for_ends_before_the_store_closes(tmp_path: Path) -> None:
    async with opened("durable", tmp_path / "store") as engine:
        await fill(engine)
        copying = [asyncio.create_task(engine.snapshot("")) for _ in range(3)]
        await asyncio.sleep(0.001)
        for task in copying:
            task.cancel()
        await asyncio.gather(*copying, return_exceptions=True)
    for made in (tmp_path / "snapshots").glob("*"):
        verify(made)


def cut(copy: Path) -> None:
    path = copy / manifest.DATABASE
    path.write_bytes(path.read_bytes()[:-4096])


def flip(copy: Path) -> None:
    path = copy / manifest.DATABASE
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)


def told(**changes: object) -> Callable[[Path], None]:
    def change(copy: Path) -> None:
        path = copy / manifest.NAME
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return change


def database(sql: str) -> Callable[[Path], None]:
    """A change in the database with a manifest that knows of it, as a fault of the program would make."""

    def change(copy: Path) -> None:
        path = copy / manifest.DATABASE
        connection = sqlite3.connect(path)
        connection.executescript(sql)
        connection.close()
        told(size=path.stat().st_size, sha256=sha256_of(path))(copy)

    return change


DELETED_WORDS = "DELETE FROM lexicon_1 WHERE rowid = (SELECT MIN(id) FROM chunks WHERE collection = 1)"
OTHER_WORDS = "UPDATE lexicon_1 SET body = 'x' WHERE rowid = (SELECT MIN(id) FROM chunks WHERE collection = 1)"
FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (cut, "bytes"),
    "flipped": (flip, "another hash"),
    "no manifest": (lambda copy: (copy / manifest.NAME).unlink(), "can't be read"),
    "torn manifest": (lambda copy: (copy / manifest.NAME).write_text('{"format": 1, "sch'), "torn"),
    "another format": (told(format=7), "format"),
    "a manifest of lists": (lambda copy: (copy / manifest.NAME).write_text("[]"), "torn"),
    "no database": (lambda copy: (copy / manifest.DATABASE).unlink(), "missing"),
    "another history": (told(mark="00"), "another last change"),
    "fewer documents": (database("DELETE FROM documents WHERE document_id = 'd1'"), "words|counts|point|whole"),
    "a text": (database("UPDATE texts SET text = 'x' WHERE document = 2"), "not whole"),
    "a vector": (database("UPDATE vectors SET vector = x'00' WHERE chunk = 3"), "vectors"),
    "words": (database(DELETED_WORDS), "words"),
    "other words": (database(OTHER_WORDS), "found by its own"),
    "another program": (database("PRAGMA application_id = 1"), "not a CiteMesh store"),
    "counts": (database("UPDATE collections SET chunks = 1"), "counts"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_copy_that_is_not_whole_is_refused(copied: StoreCopy, tmp_path: Path, fault: str) -> None:
    damage, says = FAULTS[fault]
    damage(copied.directory)
    for work in (verify, lambda copy: restore(copy, tmp_path / "again")):
        with pytest.raises(DataLoss, match=says):
            work(copied.directory)
    assert not (tmp_path / "again" / manifest.DATABASE).exists()


async def test_a_copy_of_a_newer_version_is_refused(copied: StoreCopy) -> None:
    told(schema=schema.VERSION + 1)(copied.directory)
    with pytest.raises(PreconditionFailed, match="newer"):
        verify(copied.directory)


async def test_only_an_empty_directory_takes_a_store(copied: StoreCopy, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter").write_text("mine")
    (tmp_path / "file").write_text("in the way")
    cases = [("full", "letter"), ("store", "store.db"), ("file", "file"), ("file/below", "file")]
    for name, says in cases:
        with pytest.raises(PreconditionFailed, match=says):
            restore(copied.directory, tmp_path / name)
    async with opened("durable", tmp_path / "other"):
        with pytest.raises(PreconditionFailed, match=str(os.getpid())):
            restore(copied.directory, tmp_path / "other")


async def test_an_unfinished_copy_is_swept_away_and_never_taken(tmp_path: Path) -> None:
    left = tmp_path / "snapshots" / ".unfinished-x"
    left.mkdir(parents=True)
    (left / manifest.DATABASE).write_bytes(b"half")
    with pytest.raises(DataLoss):
        verify(left)
    async with opened("durable", tmp_path / "store"):
        assert not left.exists()


async def test_a_folder_that_takes_no_copy_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    engine = DurableEngine(tmp_path / "store", snapshots=tmp_path / "file")
    await engine.open()
    try:
        with pytest.raises(PreconditionFailed, match="file"):
            await engine.snapshot("")
    finally:
        await engine.close()


async def test_the_command_restores_and_tells(
    copied: StoreCopy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([str(copied.directory), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], report["documents"], report["into"]) == (True, 14, "")
    assert command.main([str(copied.directory), "--into", str(tmp_path / "a")]) == 0
    assert "every document is found" in capsys.readouterr().out
    assert command.main([str(copied.directory), "--into", str(tmp_path / "a"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["reason"] == "STORE_NOT_EMPTY"
    assert command.main([str(tmp_path / "nowhere")]) == 1
    assert "manifest" in capsys.readouterr().out


def test_the_command_runs_as_a_process(tmp_path: Path) -> None:
    call = [sys.executable, "-m", "services.retrieval.restore", str(tmp_path), "--json"]
    done = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["ok"] is False
