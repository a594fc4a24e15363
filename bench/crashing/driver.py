"""Works on a store and says what it acknowledged, until it is killed.

Reads "SEED FIRST DIRECTORY" a line and forks a child for it, so that only this process pays for the imports. A child
prints what it is about to do ("putting default d7 2") and what it has done ("put default d7 2"). What changes several
documents in one step it says in one line ("step t3 default t3=gone t3/0=1 t3/1=1"), and "stepped t3" after it.
"""

import asyncio
import itertools
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.crashing.documents import dense, document, embedding, lexical, word_of
from services.retrieval.engines.durable.engine import DurableEngine
from services.retrieval.engines.durable.index.bitmap import Numbers
from services.retrieval.engines.durable.index.kinds import IndexChoice
from services.retrieval.engines.durable.index.vectors import ReadVectors, VectorIndex
from services.retrieval.types.chunk import Vector

ROWS = 5
MANY = 3
CHOICE = IndexChoice(flat_up_to=120, compact_from=24, move_from=16)
"""So small that a store of a few documents is switched, compacted and moved all the time."""


def engine_on(directory: Path) -> DurableEngine:
    """The engine as the driver runs it."""
    return DurableEngine(directory, snapshot_after=60, index=CHOICE, snapshots=directory.parent / "snapshots")


def say(*words: object) -> None:
    """One line, at once."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def rows_of(table: str) -> list[str]:
    """Names of a table's rows."""
    return [f"{table}/{row}" for row in range(ROWS)]


class Driver:
    """Does one thing after another on a store, several at a time, each on documents of its own."""

    def __init__(self, engine: DurableEngine, seed: int, first: int) -> None:
        self._engine = engine
        self._chance = random.Random(seed)
        self._numbers = itertools.count(first)
        self._documents: list[tuple[str, int]] = []
        self._tables: list[str] = []
        self._once_tables: list[str] = []

    async def run(self) -> None:
        """For ever."""
        works = [self.add, self.replace, self.remove, self.add_table, self.remove_table, self.collection, self.search,
                 self.add_many, self.table_to_document, self.document_to_table]  # fmt: skip
        while True:
            chosen = self._chance.choices(works, (6, 4, 3, 2, 2, 1, 3, 2, 2, 2), k=4)
            await asyncio.gather(*(work() for work in chosen))
            if self._chance.random() < 0.1:
                await self.copy()

    async def add(self) -> None:
        """A new document."""
        name = f"d{next(self._numbers)}"
        await self._put("default", name, 1)
        self._documents.append((name, 1))

    async def replace(self) -> None:
        """A document by its next version."""
        if self._documents:
            name, version = self._documents.pop(self._chance.randrange(len(self._documents)))
            await self._put("default", name, version + 1)
            self._documents.append((name, version + 1))

    async def remove(self) -> None:
        """A document."""
        if self._documents:
            name, _ = self._documents.pop(self._chance.randrange(len(self._documents)))
            await self._delete("default", name, [name])

    async def add_many(self) -> None:
        """New documents in one step."""
        names = [f"d{next(self._numbers)}" for _ in range(MANY)]
        await self._step(names[0], dict.fromkeys(names, 1))
        self._documents += [(name, 1) for name in names]

    async def add_table(self) -> None:
        """A table, row by row, all at once, or all in one step."""
        name = f"t{next(self._numbers)}"
        if self._chance.random() < 0.5:
            await self._step(name, dict.fromkeys(rows_of(name), 1))
        else:
            await asyncio.gather(*(self._put("default", row, 1) for row in rows_of(name)))
        self._tables.append(name)

    async def remove_table(self) -> None:
        """A table by its id."""
        if self._tables:
            name = self._tables.pop()
            await self._delete("default", name, rows_of(name))

    async def table_to_document(self) -> None:
        """A document in a table's place, in one step."""
        if self._tables:
            name = self._tables.pop()
            await self._step(name, {name: 1, **dict.fromkeys(rows_of(name))})
            self._once_tables.append(name)

    async def document_to_table(self) -> None:
        """A table in a document's place, in one step."""
        if self._once_tables:
            name = self._once_tables.pop()
            await self._step(name, {name: None, **dict.fromkeys(rows_of(name), 1)})
            self._tables.append(name)

    async def collection(self) -> None:
        """A collection with two documents, which goes again half the time."""
        name = f"c{next(self._numbers)}"
        say("creating", name)
        await self._engine.create(name, embedding())
        say("created", name)
        await asyncio.gather(*(self._put(name, f"d{next(self._numbers)}", 1) for _ in range(2)))
        if self._chance.random() < 0.5:
            say("dropping", name)
            await self._engine.drop(name)
            say("dropped", name)

    async def search(self) -> None:
        """By words and by vector, for something that is there unless it goes meanwhile."""
        if self._documents:
            word = word_of(*self._chance.choice(self._documents))
            await self._engine.search_many([lexical("default", word), dense("default", word)])

    async def copy(self) -> None:
        """A copy of the store."""
        say("copying")
        made = await self._engine.snapshot(self._chance.choice(["", "default"]))
        say("copied", made.directory)

    async def _step(self, name: str, versions: dict[str, int | None]) -> None:
        """Puts those that have a version; the others go by that."""
        said = [f"{each}={'gone' if version is None else version}" for each, version in versions.items()]
        say("step", name, "default", *said)
        new = [document("default", each, version) for each, version in versions.items() if version is not None]
        await self._engine.put_many(new)
        say("stepped", name)

    async def _put(self, collection: str, name: str, version: int) -> None:
        say("putting", collection, name, version)
        await self._engine.put(document(collection, name, version))
        say("put", collection, name, version)

    async def _delete(self, collection: str, name: str, names: list[str]) -> None:
        for each in names:
            say("deleting", collection, each)
        await self._engine.delete(collection, [name])
        for each in names:
            say("deleted", collection, each)


def slowly(rebuild: Callable[..., bool]) -> Callable[..., bool]:
    """A rebuild that says when it begins and ends, and takes some time, so that a kill may strike within."""

    def run(index: VectorIndex, kind: str, read: ReadVectors, *more: Any) -> bool:
        def portions(numbers: Numbers) -> Iterator[tuple[Numbers, Vector]]:
            for start in range(0, len(numbers), 40):
                yield from read(numbers[start : start + 40])
                time.sleep(0.003)

        say("rebuilding", kind)
        done = rebuild(index, kind, portions, *more)
        say("rebuilt", kind)
        return done

    return run


async def run(directory: Path, seed: int, first: int) -> None:
    """A child's life."""
    started = time.monotonic()
    engine = engine_on(directory)
    await engine.open()
    if not await engine.collections("", 1):
        await engine.create("default", embedding())
    say("open", time.monotonic() - started)
    await Driver(engine, seed, first).run()


def main() -> None:
    """Forks a child for each line."""
    VectorIndex.rebuild = slowly(VectorIndex.rebuild)  # type: ignore[method-assign]  # only in this process
    for line in sys.stdin:
        seed, first, directory = line.rstrip("\n").split(" ", 2)
        child = os.fork()
        if child == 0:
            say("child", os.getpid())
            asyncio.run(run(Path(directory), int(seed), int(first)))
        os.waitpid(child, 0)
        say("dead")


if __name__ == "__main__":
    main()
