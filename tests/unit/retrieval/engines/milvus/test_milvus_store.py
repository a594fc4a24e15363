"""What the Milvus engine guarantees where a change is broken off, on Milvus Lite."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from citemesh.errors import DeadlineExceeded, InvalidInput, NotFound, NotSupported, PreconditionFailed, Unavailable
from services.retrieval.types.chunk import PackedTokenVectors
from tests.contract.retrieval.retrieval_engines import EMBEDDING, OTHER, ids_of, new_document, search

pymilvus = pytest.importorskip("pymilvus")
pytest.importorskip("milvus_lite")

from services.retrieval.engines.milvus.engine import MilvusEngine  # noqa: E402 - only where it is installed

pytestmark = pytest.mark.real


class Broken(Exception):
    """The process died here."""


class Fragile:
    """A client that dies at its n-th change."""

    def __init__(self, client: Any, at: int) -> None:
        self._client, self._left = client, at

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name not in ("insert", "upsert", "delete"):
            return found

        def change(*arguments: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left < 0:
                raise Broken
            return found(*arguments, **options)

        return change


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def engine(tmp_path: Path, clock: Clock) -> AsyncIterator[MilvusEngine]:
    made = MilvusEngine(str(tmp_path / "milvus.db"), now=clock)
    await made.open()
    await made.create("default", EMBEDDING)
    yield made
    await made.close()


def breaking(engine: MilvusEngine, at: int) -> Any:
    """Makes the engine's next changes die at the n-th; returns what undoes that."""
    store, whole = engine._store, engine._store._client
    store._client = Fragile(whole, at)

    def undo() -> None:
        store._client = whole

    return undo


async def rows(engine: MilvusEngine) -> set[str]:
    """Versions of which there are chunks or parts."""
    names = (engine._names.chunks("default"), engine._names.parts("default"))
    return {row["version"] for name in names for row in engine._milvus.query(name, filter='id >= ""', limit=1000,
            output_fields=["version"])}  # fmt: skip


OLD, NEW = "The old pump runs at forty bar.", "The new pump runs at ninety bar."


async def test_a_replacement_is_whole_or_not_at_all_wherever_it_dies(engine: MilvusEngine, clock: Clock) -> None:
    seen = set()
    for at in range(12):
        await engine.put(new_document(OLD, "pump"))
        undo = breaking(engine, at)
        died = False
        try:
            await engine.put(new_document(NEW, "pump"))
        except Broken:
            died = True
        undo()
        _, text = await engine.document("default", "pump")
        assert text in (OLD, NEW)
        for mode in ("dense", "lexical", "hybrid"):
            found = (await search(engine, "pump bar", mode, top_k=10)).chunks
            assert [it.chunk.text for it in found] == [text], f"{mode}, dead at change {at}"
        seen.add((died, text))
        if not died:
            break
        clock.ahead += 7200
        await engine._run(engine._store.sweep)
        assert len(await rows(engine)) == 1, "nothing of the other version is left"
        assert not await engine._run(engine._store.sweep)
    assert seen == {(True, OLD), (True, NEW), (False, NEW)}


@pytest.mark.parametrize("becomes", ["table", "document"])
async def test_a_table_and_a_document_change_places_wherever_it_dies(
    engine: MilvusEngine, clock: Clock, becomes: str
) -> None:
    """Where it dies before the step that counts, the old stays; after it the new is there and the sweep ends it."""
    table = [new_document(f"{OLD} {n}", f"t/{n}", table_id="t") for n in range(3)]
    document = [new_document(NEW, "t")]
    first, second = (document, table) if becomes == "table" else (table, document)
    outcomes = set()
    for at in range(12):
        await engine.put_many(first)
        undo = breaking(engine, at)
        died = False
        try:
            await engine.put_many(second)
        except Broken:
            died = True
        undo()
        clock.ahead += 7200
        await engine._run(engine._store.sweep)
        kept = {it.document_id for it in await engine.documents("default", "", 100)}
        assert kept in ({it.info.document_id for it in first}, {it.info.document_id for it in second})
        texts = {it.chunk.text for it in (await search(engine, "pump bar", "lexical", keep_duplicates=True)).chunks}
        assert texts == {it.text for it in (first if kept == {it.info.document_id for it in first} else second)}
        assert len(await rows(engine)) == len(kept)
        outcomes.add((died, kept == {it.info.document_id for it in second}))
        if not died:
            break
    assert outcomes == {(True, False), (True, True), (False, True)}


async def test_a_deletion_is_whole_or_not_at_all_wherever_it_dies(engine: MilvusEngine, clock: Clock) -> None:
    ends = set()
    for at in range(12):
        for name in ("a", "b"):
            await engine.put(new_document(f"{OLD} {name}", name))
        undo = breaking(engine, at)
        died = False
        try:
            await engine.delete("default", ["a", "b"])
        except Broken:
            died = True
        undo()
        left = {info.document_id for info in await engine.documents("default", "", 10)}
        assert left in (set(), {"a", "b"})
        assert set(ids_of(await search(engine, "pump bar", keep_duplicates=True))) == left
        ends.add((died, len(left)))
        clock.ahead += 7200
        await engine._run(engine._store.sweep)
        assert len(await rows(engine)) == len(left)
        if not died:
            break
        await engine.delete("default", ["a", "b"])
    assert ends == {(True, 2), (True, 0), (False, 0)}


async def test_what_is_left_behind_takes_nobodys_place(engine: MilvusEngine) -> None:
    """k results come back where k exist, though leftovers rank before them."""
    for n in range(30):
        undo = breaking(engine, 3)  # after the rows, before the document's own
        with pytest.raises(Broken):
            await engine.put(new_document(f"pump pump pump {n}", f"left{n}"))
        undo()
    for n in range(12):
        await engine.put(new_document(f"the pump of house {n} is a fine one", f"d{n}"))
    small = engine._search
    small._candidates = 10
    for mode in ("dense", "lexical", "hybrid"):
        found = (await search(engine, "pump", mode, top_k=5, keep_duplicates=True)).chunks
        assert len(found) == 5
        assert all(it.document.document_id.startswith("d") for it in found)


async def test_a_change_that_takes_too_long_gives_up(engine: MilvusEngine, clock: Clock) -> None:
    """The sweep of another replica must not take it for one that never ended."""
    insert = engine._store._insert

    def slow(*arguments: Any) -> None:
        clock.ahead += 1000
        insert(*arguments)

    engine._store._insert = slow  # type: ignore[method-assign]  # stands for a slow server
    with pytest.raises(DeadlineExceeded):
        await engine.put(new_document(OLD, "slow"))
    with pytest.raises(NotFound):
        await engine.document("default", "slow")


async def test_everything_is_there_after_a_new_start(tmp_path: Path) -> None:
    first = MilvusEngine(str(tmp_path / "milvus.db"))
    await first.open()
    await first.create("default", EMBEDDING)
    vectors = PackedTokenVectors(bytes(range(256)) * 500, "v")
    number = await first.put(new_document(OLD, "pump", token_vectors=vectors, metadata={"中文 \"'\\": "x\n🎉"}))
    await first.close()
    again = MilvusEngine(str(tmp_path / "milvus.db"))
    await again.open()
    info, text = await again.document("default", "pump")
    assert (text, info.metadata) == (OLD, {"中文 \"'\\": "x\n🎉"})
    found = await search(again, "pump", with_token_vectors=True)
    assert found.chunks[0].chunk.token_vectors == vectors
    assert found.sequence == number
    assert await again.put(new_document(NEW, "pump")) > number
    await again.close()


async def test_two_replicas_see_each_others_changes(engine: MilvusEngine, tmp_path: Path) -> None:
    """Two engines over one client, as Milvus Lite lets in one process alone."""
    other = MilvusEngine("unused")
    other._client, other._registry = engine._client, engine._registry
    other._store, other._search = engine._store, engine._search
    first = await engine.put(new_document(OLD, "pump"))
    second = await other.put(new_document(NEW, "pump"))
    assert second > first
    found = await search(engine, "pump")
    assert (found.sequence, [it.chunk.text for it in found.chunks]) == (second, [NEW])
    other._client = None


async def test_what_milvus_cannot_hold_is_named(engine: MilvusEngine) -> None:
    with pytest.raises(InvalidInput, match="metadata"):
        await engine.put(new_document(OLD, "pump", metadata={f"k{n}": "x" * 4000 for n in range(20)}))
    with pytest.raises(NotSupported, match="milvus-backup"):
        await engine.snapshot("default")
    with pytest.raises(PreconditionFailed):
        await engine.put(new_document(OLD, "pump", embedding=OTHER))
    assert not await rows(engine)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    engine = MilvusEngine("http://127.0.0.1:1", timeout_s=1)
    with pytest.raises(Unavailable, match="Milvus"):
        await engine.open()
    await engine.close()
