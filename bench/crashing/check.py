"""What must hold after a kill: all that was acknowledged is there, whole and found; nothing that was deleted is."""

import random
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from bench.crashing.documents import PARTS, dense, lexical, part_of, text_of, word_of
from bench.crashing.ledger import Key, Ledger
from citemesh.errors import NotFound
from services.retrieval.engines.durable.engine import DurableEngine
from services.retrieval.engines.durable.store.backup.proof import prove
from services.retrieval.engines.durable.store.backup.restore import verify

_LOOKED_AT = 40


@dataclass(slots=True)
class Checked:
    """How many documents were looked for by their own text, and how many deleted ones were looked for in vain."""

    found: int = 0
    gone: int = 0


async def check(ledger: Ledger, engine: DurableEngine, directory: Path, chance: random.Random) -> Checked:
    """Raises AssertionError where anything does not hold. Settles what was unsure as the store has it."""
    await _collections(ledger, engine)
    for name, states in ledger.steps.items():
        await _one_step(engine, name, states)
    ledger.steps.clear()
    unsure = list(ledger.unsure())
    for key in unsure:
        await _settle(ledger, engine, key)
    looked_at = {*unsure, *list(ledger.documents)[-_LOOKED_AT // 2 :], *_some(ledger, chance)}
    checked = Checked()
    for key in looked_at:
        await _document(ledger, engine, key, checked)
    for name, states in ledger.collections.items():
        if states == {True}:
            info = await engine.collection(name)
            assert info.documents == ledger.living(name), f"{name}: {info.documents} != {ledger.living(name)}"
            assert info.chunks == PARTS * info.documents
    _agree(engine, directory)
    return checked


def check_files(ledger: Ledger, directory: Path) -> None:
    """Looks at the closed store's file, and at a copy that was acknowledged. Raises DataLoss, AssertionError."""
    path = directory / "store.db"
    with closing(sqlite3.connect(path)) as connection:
        prove(connection, path)
    if ledger.copies:
        verify(ledger.copies[-1])
    assert not list((directory.parent / "snapshots").glob(".unfinished-*"))


async def _collections(ledger: Ledger, engine: DurableEngine) -> None:
    there = {info.name for info in await engine.collections("", 100_000)}
    for name, states in ledger.collections.items():
        assert (name in there) in states, f"collection {name} is {'there' if name in there else 'gone'}"
        ledger.collections[name] = {name in there}
    assert there <= ledger.collections.keys()


async def _one_step(engine: DurableEngine, name: str, states: dict[Key, int | None]) -> None:
    """A step brought all of its documents to their states, or none."""
    done = {key: await _version(engine, key) == state for key, state in states.items()}
    assert len(set(done.values())) == 1, f"step {name} is half done: {done}"


async def _settle(ledger: Ledger, engine: DurableEngine, key: Key) -> None:
    kept = await _version(engine, key)
    assert kept in ledger.documents[key], f"{key} is in state {kept}, not in {ledger.documents[key]}"
    ledger.documents[key] = {kept}


async def _version(engine: DurableEngine, key: Key) -> int | None:
    try:
        _, text = await engine.document(*key)
    except NotFound:
        return None
    version = int(text.split()[4].rpartition("version")[2])
    assert text == text_of(key[1], version), f"{key} is not whole"
    return version


def _some(ledger: Ledger, chance: random.Random) -> list[Key]:
    keys = list(ledger.documents)
    return chance.sample(keys, min(len(keys), _LOOKED_AT))


async def _document(ledger: Ledger, engine: DurableEngine, key: Key, checked: Checked) -> None:
    (collection, name), (state,) = key, ledger.documents[key]
    assert await _version(engine, key) == state, f"{key} is not in state {state}"
    if ledger.collections.get(collection) != {True}:
        checked.gone += 1
        return
    for version in {1, 2, state} - {None}:
        word = word_of(name, version or 0)
        for query in (lexical(collection, word), dense(collection, part_of(name, version or 0))):
            results = await engine.search(query)
            texts = [it.chunk.text for it in results.chunks if f" {word} " in it.chunk.text]
            assert bool(texts) == (version == state), f"{key} of version {version}: {len(texts)} found by {query.mode}"
    checked.found += state is not None
    checked.gone += state is None


def _agree(engine: DurableEngine, directory: Path) -> None:
    """The index of each collection holds the numbers that the store has vectors of."""
    with closing(sqlite3.connect(directory / "store.db")) as connection:
        for kept in engine._indexes.all():
            rows = connection.execute(
                "SELECT v.chunk FROM vectors v JOIN chunks k ON k.id = v.chunk WHERE k.collection = ? ORDER BY 1",
                (kept.row.id,),
            )
            assert kept.index.numbers().tolist() == [row[0] for row in rows], f"the index of {kept.row.name} differs"
