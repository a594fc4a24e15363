"""The durable engine keeps what it acknowledged: kills, torn and foreign snapshots, locks, versions, full disks."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.crashing.killing import kill_again_and_again
from citemesh.errors import DataLoss, PreconditionFailed, Unavailable
from services.retrieval.engine import RetrievalEngine
from services.retrieval.engines.durable.engine import DurableEngine
from services.retrieval.engines.durable.index.kinds import IndexChoice
from services.retrieval.engines.durable.store import schema
from services.retrieval.engines.durable.store.tables import documents
from services.retrieval.types.query import Filter, Mode
from services.retrieval.types.results import FoundChunk, Results
from tests.contract.retrieval.retrieval_engines import EMBEDDING, ids_of, new_document, opened, query_for, search

KILLS = 20


def numbers(directory: Path) -> tuple[list[int], list[int], list[int]]:
    """Chunk numbers as the store, its vectors and its words have them."""
    connection = sqlite3.connect(directory / "store.db")
    found = [
        [row[0] for row in connection.execute(sql)]
        for sql in (
            "SELECT id FROM chunks ORDER BY id",
            "SELECT chunk FROM vectors ORDER BY chunk",
            "SELECT rowid FROM lexicon_1 ORDER BY rowid",
        )
    ]
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.execute("INSERT INTO lexicon_1(lexicon_1) VALUES ('integrity-check')")
    connection.rollback()
    connection.close()
    return found[0], found[1], found[2]


@pytest.mark.slow
async def test_kill_at_any_instant_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """After each kill all that was acknowledged is there, whole and found, and nothing that was deleted is."""
    outcome = await kill_again_and_again(tmp_path, KILLS, seed=7)
    assert outcome.faults == []
    assert outcome.kills == KILLS
    assert outcome.acknowledged > KILLS
    assert outcome.found > KILLS
    assert outcome.gone > KILLS
    assert outcome.within.keys() & {"start", "table", "rebuild", "copy"}
    assert max(outcome.open_s) < 5


async def all_of(engine: RetrievalEngine, name: str) -> Sequence[FoundChunk]:
    """All chunks of a document that the index finds."""
    chosen = Filter(document_ids=[name])
    return (await search(engine, "word", "dense", 1000, chosen=chosen, keep_duplicates=True)).chunks


def indexed(engine: DurableEngine) -> list[int]:
    """Numbers that the FAISS index of the first collection holds."""
    kept = next(kept for kept in engine._indexes.all() if kept.row.id == 1)
    found: list[int] = kept.index.numbers().tolist()
    return found


async def fill(directory: Path, count: int = 30, start: int = 0) -> None:
    async with opened("durable", directory) as engine:
        for n in range(start, start + count):
            await engine.put(new_document(f"number {n} has word{n}", f"d{n}"))


async def put_many(engine: RetrievalEngine, count: int) -> None:
    for n in range(count):
        await engine.put(new_document(f"number {n} " * 200, f"d{n}"))


async def check(directory: Path, count: int) -> None:
    async with opened("durable", directory) as engine:
        assert isinstance(engine, DurableEngine)
        assert indexed(engine) == numbers(directory)[0]
        for n in range(count):
            assert ids_of(await search(engine, f"number {n} has word{n}", "dense"))[0] == f"d{n}"


def snapshot_of(directory: Path) -> Path:
    return directory / "collection-1.faiss"


@pytest.mark.parametrize("damage", ["gone", "empty", "torn", "flipped", "header", "magic", "unreadable json"])
async def test_a_bad_snapshot_is_rebuilt(tmp_path: Path, damage: str) -> None:
    await fill(tmp_path)
    path = snapshot_of(tmp_path)
    data = path.read_bytes()
    broken = {
        "empty": b"",
        "torn": data[: len(data) // 2],
        "flipped": data[:-3] + bytes([data[-3] ^ 255]) + data[-2:],
        "header": data[:12],
        "magic": b"CMVECS99" + data[8:],
        "unreadable json": data[:12] + b"\xff" + data[13:],
    }
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(broken[damage])
    await check(tmp_path, 30)
    await check(tmp_path, 30)


async def test_a_snapshot_of_another_store_is_not_taken(tmp_path: Path) -> None:
    await fill(tmp_path / "one", 30)
    await fill(tmp_path / "two", 20, start=100)
    shutil.copy(snapshot_of(tmp_path / "two"), snapshot_of(tmp_path / "one"))
    await check(tmp_path / "one", 30)


async def test_a_snapshot_of_another_history_is_not_taken(tmp_path: Path) -> None:
    """A store that was put back from a copy numbers new chunks as the lost ones were."""
    await fill(tmp_path, 10)
    copy = (tmp_path / "store.db").read_bytes()
    await fill(tmp_path, 10, start=50)
    lost = snapshot_of(tmp_path).read_bytes()
    (tmp_path / "store.db").write_bytes(copy)
    await fill(tmp_path, 20, start=10)
    snapshot_of(tmp_path).write_bytes(lost)
    await check(tmp_path, 30)


async def test_an_old_snapshot_is_brought_up_to_date(tmp_path: Path) -> None:
    await fill(tmp_path, 10)
    old = snapshot_of(tmp_path).read_bytes()
    async with opened("durable", tmp_path) as engine:
        await engine.delete("default", ["d3", "d4"])
        await engine.put(new_document("changed words now", "d5"))
    snapshot_of(tmp_path).write_bytes(old)
    async with opened("durable", tmp_path) as engine:
        assert isinstance(engine, DurableEngine)
        assert indexed(engine) == numbers(tmp_path)[0]
        assert ids_of(await search(engine, "changed words now", "dense"))[0] == "d5"
        assert "d3" not in ids_of(await search(engine, "number 3 has word3", "dense", 100))


async def test_many_deletes_compact_the_index(tmp_path: Path) -> None:
    async with opened("durable", tmp_path) as engine:
        assert isinstance(engine, DurableEngine)
        await engine.put(new_document("\n\n".join(f"A part with word{n} of many words." for n in range(2000)), "large"))
        for n in range(10):
            await engine.put(new_document(f"number {n} has word{n}", f"d{n}"))
        assert len(indexed(engine)) > 300
        await engine.delete("default", ["large", "d9"])
        assert len(indexed(engine)) == 9
        assert await engine.settle()
        assert engine._indexes.all()[0].index.dead == 0
        assert len(indexed(engine)) == 9
        assert len(ids_of(await search(engine, "number", "dense", 1000))) == 9


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        (IndexChoice(factory="Nonsense7"), "Nonsense7"),
        (IndexChoice(factory="PQ999"), "PQ999"),
        (IndexChoice(kind="ivf", gpu=True), "faiss-gpu"),
    ],
)
async def test_an_index_that_cannot_be_made_is_refused(tmp_path: Path, choice: IndexChoice, says: str) -> None:
    with pytest.raises(PreconditionFailed, match=says):
        await DurableEngine(tmp_path, index=choice).open()
    async with opened("durable", tmp_path) as engine:
        assert (await engine.collection("default")).documents == 0


async def test_a_second_process_is_refused_with_the_holders_id(tmp_path: Path) -> None:
    async with opened("durable", tmp_path):
        second = DurableEngine(tmp_path)
        with pytest.raises(PreconditionFailed, match=str(os.getpid())):
            await second.open()
        await second.close()
    await check(tmp_path, 0)


async def test_a_path_that_can_hold_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file", tmp_path / "file" / "store"):
        with pytest.raises(PreconditionFailed, match="file"):
            await DurableEngine(path).open()


async def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    await fill(tmp_path, 1)
    connection = sqlite3.connect(tmp_path / "store.db")
    connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    connection.close()
    with pytest.raises(PreconditionFailed, match="newer"):
        await DurableEngine(tmp_path).open()


async def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "store.db")
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(DataLoss, match="not a CiteMesh store"):
        await DurableEngine(tmp_path).open()


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"\x00\x01 no database" * 1000)
    with pytest.raises(DataLoss):
        await DurableEngine(tmp_path).open()


async def test_a_full_disk_refuses_and_keeps_the_rest(tmp_path: Path) -> None:
    async with opened("durable", tmp_path) as engine:
        assert isinstance(engine, DurableEngine)
        await engine.put(new_document("the first one fits", "first"))
        database = engine._open_database
        await database.write(lambda it: it.execute("PRAGMA max_page_count = 120").fetchone())
        with pytest.raises(Unavailable, match="full"):
            await put_many(engine, 500)
        held = (await engine.collection("default")).documents
        assert ids_of(await search(engine, "first one fits", "lexical")) == ["first"]
        assert await engine.healthy()
        await database.write(lambda it: it.execute("PRAGMA max_page_count = 100000").fetchone())
        await engine.put(new_document("service again", "last"))
        assert (await engine.collection("default")).documents == held + 1
        assert indexed(engine) == numbers(tmp_path)[0]


async def test_a_snapshot_of_another_collection_is_not_taken(tmp_path: Path) -> None:
    async with opened("durable", tmp_path) as engine:
        await engine.create("other", EMBEDDING)
        for n in range(30):
            await engine.put(new_document(f"number {n} has word{n}", f"d{n}"))
            await engine.put(new_document(f"other {n} has term{n}", f"e{n}", "other"))
    shutil.copy(tmp_path / "collection-2.faiss", snapshot_of(tmp_path))
    async with opened("durable", tmp_path) as engine:
        assert isinstance(engine, DurableEngine)
        assert indexed(engine) == list(range(1, 60, 2))
        assert ids_of(await search(engine, "other 3 has term3", "dense", collection="other"))[0] == "e3"


@pytest.mark.slow
async def test_searches_go_on_rightly_while_an_index_is_switched_and_compacted(tmp_path: Path) -> None:
    """The kind goes up and down as documents come and go; what stays is found at every moment, what went never is."""
    choice = IndexChoice(flat_up_to=60, compact_from=32, move_from=16)
    engine = DurableEngine(tmp_path / "store", snapshot_after=100, index=choice)
    await engine.open()
    await engine.create("default", EMBEDDING)
    steady = [f"steady text {n} of constant{n} that stays" for n in range(10)]
    for n, text in enumerate(steady):
        await engine.put(new_document(text, f"s{n}"))
    stop, kinds, searches = asyncio.Event(), set[str](), 0

    async def look() -> None:
        nonlocal searches
        while not stop.is_set():
            n = searches % 10
            assert ids_of(await search(engine, steady[n], "dense", 3))[0] == f"s{n}"
            chosen = Filter(document_ids=[f"s{n}", "gone"])
            assert ids_of(await search(engine, "anything", "dense", 3, chosen=chosen)) == [f"s{n}"]
            kinds.add((await engine.collection("default")).index)
            searches += 1
            await asyncio.sleep(0)

    looking = [asyncio.create_task(look()) for _ in range(2)]
    try:
        for round_ in range(2):
            names = [f"r{round_}-{n}" for n in range(20)]
            for name in names:
                text = "\n\n".join(f"{name} passing part {part} of words that go again" for part in range(12))
                await engine.put(new_document(text, name))
            assert await engine.settle()
            await engine.delete("default", names)
            assert not {*names} & {*ids_of(await search(engine, f"{names[0]} passing part", "dense", 100))}
            assert await engine.settle()
    finally:
        stop.set()
        await asyncio.gather(*looking)
        assert engine._indexes.all()[0].index.dead == 0
        await engine.close()
    assert kinds == {"flat", "hnsw"}
    assert searches > 30


async def test_a_cancelled_put_is_whole_or_absent(tmp_path: Path) -> None:
    async with opened("durable", tmp_path) as engine:
        assert isinstance(engine, DurableEngine)
        for n in range(40):
            putting = asyncio.create_task(engine.put(new_document(f"number {n} has word{n} " * 30, f"d{n}")))
            await asyncio.sleep(0.0005 * (n % 8))
            putting.cancel()
            await asyncio.gather(putting, return_exceptions=True)
        await engine.put(new_document("the last", "last"))
        assert indexed(engine) == numbers(tmp_path)[0]
        for info in await engine.documents("default", "", 100):
            assert len(await all_of(engine, info.document_id)) == info.chunks


async def test_words_of_an_older_program_are_made_anew(tmp_path: Path) -> None:
    await fill(tmp_path, 5)
    connection = sqlite3.connect(tmp_path / "store.db")
    connection.execute("UPDATE meta SET value = '0' WHERE key = 'lexical_version'")
    connection.execute("DELETE FROM lexicon_1 WHERE rowid > 2")
    connection.commit()
    connection.close()
    async with opened("durable", tmp_path) as engine:
        assert [ids_of(await search(engine, f"word{n}", "lexical")) for n in range(5)] == [[f"d{n}"] for n in range(5)]
    stored, vectors, lexicon = numbers(tmp_path)
    assert stored == vectors == lexicon


async def test_a_closed_engine_says_so(tmp_path: Path) -> None:
    engine = DurableEngine(tmp_path)
    with pytest.raises(Unavailable):
        await engine.create("default", EMBEDDING)
    await engine.open()
    await engine.close()
    with pytest.raises(Unavailable):
        await engine.collection("default")
    await engine.close()


async def test_a_collections_number_survives_a_restart_and_its_name_given_anew(tmp_path: Path) -> None:
    async with opened("durable", tmp_path) as engine:
        await engine.create("other", EMBEDDING)
        last = await engine.put(new_document("water flows", "d", "other"))
        await engine.put(new_document("water flows", "d"))
    async with opened("durable", tmp_path) as engine:
        assert (await search(engine, "water", collection="other")).sequence == last
        dropped = await engine.drop("other")
    async with opened("durable", tmp_path) as engine:
        await engine.create("other", EMBEDDING)
        assert (await search(engine, "water", collection="other")).sequence > dropped > last


async def test_an_answer_never_claims_a_change_that_its_index_has_not_followed(tmp_path: Path) -> None:
    """Between the commit and the index: words see the change, vectors don't, and the answer's number is the one before.

    What was found then is looked for again once the number is another.
    """
    async with opened("durable", tmp_path) as engine:
        assert isinstance(engine, DurableEngine)
        first = await engine.put(new_document("water flows", "a"))
        follow = engine._indexes.apply
        beside: list[Results] = []

        def late(*change: Any) -> None:
            database = engine._open_database
            modes: tuple[Mode, ...] = ("dense", "lexical")
            asked = [query_for("water", mode) for mode in modes]
            beside.extend(database.read_here(lambda connection: engine._search.run(connection, asked)))
            follow(*change)

        engine._indexes.apply = late  # type: ignore[method-assign]  # a moment that takes microseconds
        second = await engine.put(new_document("water stands", "b"))
        assert [ids_of(found) for found in beside] == [["a"], ["a", "b"]]
        assert [found.sequence for found in beside] == [first, first]
        assert (await search(engine, "water")).sequence == second


@pytest.mark.parametrize("becomes", ["table", "document"])
async def test_a_table_and_a_document_change_places_in_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, becomes: str
) -> None:
    """Where it fails between what goes and what comes, all is as it was, also after a new start."""
    table = [new_document(f"row {n} of amber", f"t/{n}", table_id="t") for n in range(3)]
    document = [new_document("a document of copper", "t")]
    first, second = (document, table) if becomes == "table" else (table, document)
    async with opened("durable", tmp_path) as engine:
        number = await engine.put_many(first)
        insert = documents.insert

        def failing(*arguments: Any) -> int:
            if arguments[2] is second[-1]:
                raise InterruptedError
            return insert(*arguments)

        monkeypatch.setattr(documents, "insert", failing)
        with pytest.raises(InterruptedError):
            await engine.put_many(second)
        monkeypatch.undo()
    for again in range(2):
        async with opened("durable", tmp_path) as engine:
            assert isinstance(engine, DurableEngine)
            expected = [it.info.document_id for it in (second if again else first)]
            assert [it.document_id for it in await engine.documents("default", "", 9)] == expected
            for mode in ("dense", "lexical"):
                query = "amber" if "t" not in expected else "copper"
                assert sorted(ids_of(await search(engine, query, mode))) == expected
            assert indexed(engine) == numbers(tmp_path)[1]
            assert again or (await search(engine, "amber")).sequence == number
            await engine.put_many(second)
