"""Documents that wait at the same moment share a commit, and each has its own end."""

import asyncio
from collections.abc import Sequence

import pytest

from citemesh.errors import CiteMeshError, InvalidInput
from services.retrieval.ingestion import commits
from services.retrieval.ingestion.commits import StreamCommits, groups
from services.retrieval.types.document import NewDocument
from tests.contract.retrieval.retrieval_engines import new_document


class Store:
    """Takes groups, one at a time, when it is let."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.bad: set[str] = set()
        self.go = asyncio.Event()
        self.go.set()
        self.at_once = 0

    async def commit(self, documents: Sequence[NewDocument]) -> None:
        self.at_once += 1
        assert self.at_once == 1
        try:
            names = [it.info.document_id for it in documents]
            assert len({it.info.collection for it in documents}) == 1
            self.groups.append(names)
            await self.go.wait()
            if self.bad & set(names):
                raise InvalidInput("chunk", f"{names} can't be held", "send less")
        finally:
            self.at_once -= 1


def named(*names: str, collection: str = "default") -> list[NewDocument]:
    return [new_document(f"text of {name}", name, collection) for name in names]


async def start(made: StreamCommits, documents: Sequence[NewDocument]) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(made.put(it)) for it in documents]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def test_what_waits_while_a_commit_is_made_shares_the_next() -> None:
    store = Store()
    made = StreamCommits(store)
    store.go.clear()
    tasks = await start(made, named("a", "b", "c"))
    assert store.groups == [["a"]] or store.groups == [["a", "b", "c"]]
    tasks += await start(made, named("d", "e"))
    store.go.set()
    await asyncio.gather(*tasks)
    assert [name for group in store.groups for name in group] == ["a", "b", "c", "d", "e"]
    assert len(store.groups) == 2


async def test_groups_are_of_one_collection_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "MOST_DOCUMENTS", 3)
    store = Store()
    made = StreamCommits(store)
    store.go.clear()
    tasks = await start(made, named("first"))
    tasks += await start(made, [*named("a", "b"), *named("x", collection="other"), *named("c", "d", "e")])
    store.go.set()
    await asyncio.gather(*tasks)
    assert store.groups == [["first"], ["a", "b", "c"], ["x"], ["d", "e"]]


async def test_what_goes_wrong_with_one_stays_its_own() -> None:
    store = Store()
    made = StreamCommits(store)
    store.bad, _ = {"b"}, store.go.clear()
    tasks = await start(made, named("first"))
    tasks += await start(made, named("a", "b", "c"))
    store.go.set()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(end) for end in ends] == [type(None), type(None), InvalidInput, type(None)]
    assert store.groups == [["first"], ["a", "b", "c"], ["a"], ["b"], ["c"]]


async def test_who_leaves_is_not_stored_and_the_others_are() -> None:
    store = Store()
    made = StreamCommits(store)
    store.go.clear()
    first = await start(made, named("first"))
    tasks = await start(made, named("a", "b", "c"))
    tasks[1].cancel()
    await asyncio.gather(tasks[1], return_exceptions=True)
    store.go.set()
    await asyncio.gather(*first, tasks[0], tasks[2])
    assert store.groups == [["first"], ["a", "c"]]


async def test_who_leaves_in_the_midst_of_a_commit_takes_nobody_along() -> None:
    store = Store()
    made = StreamCommits(store)
    store.go.clear()
    first = await start(made, named("first"))
    tasks = await start(made, named("a", "b"))
    first[0].cancel()
    await asyncio.gather(*first, return_exceptions=True)
    store.go.set()
    await asyncio.gather(*tasks)
    assert store.groups == [["first"], ["a", "b"]]


async def test_an_error_that_nobody_knows_reaches_each(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        async def commit(self, documents: Sequence[NewDocument]) -> None:
            raise RuntimeError("a fault")

    made = StreamCommits(Broken())
    ends = await asyncio.gather(*(made.put(it) for it in named("a", "b")), return_exceptions=True)
    assert [type(end) for end in ends] == [RuntimeError, RuntimeError]
    assert not any(isinstance(end, CiteMeshError) for end in ends)


def test_groups_are_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = named("a", "b", "c", "d")
    size = commits._bytes(documents[0])
    monkeypatch.setattr(commits, "MOST_BYTES", 2 * size)
    assert [len(group) for group in groups(documents)] == [2, 2]
    monkeypatch.setattr(commits, "MOST_BYTES", 1)
    assert [len(group) for group in groups(documents)] == [1, 1, 1, 1]
    assert list(groups([])) == []
