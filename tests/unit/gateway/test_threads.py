"""Threads on disk: whose they are, how many, and that they outlive the process."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from citemesh.client.types import Citation, CitationEvent, Location, Source, Span
from citemesh.errors import InvalidInput, NotFound, PreconditionFailed
from gateway.threads.bounds import ThreadBounds
from gateway.threads.owner import Owner
from gateway.threads.store import ThreadStore
from gateway.threads.turn import Turn

ANN, BOB, FOREIGN = Owner("acme", "ann"), Owner("acme", "bob"), Owner("other", "ann")
PLACE = Location(Span(3, 9), 2, ("水泵", "Use"))
SOURCE = Source(
    1, "c1", "d1", "default", "Títle 🐳", "docs/a.md", PLACE, "text 文", 0.5, datetime(2024, 1, 31, tzinfo=UTC)
)
CITED = CitationEvent(Span(0, 4), (Citation(1, "d1", "default", PLACE, "quote 🐋", 0.75),), True)
TURN = Turn(
    "Was ist es? 这是什么？🐳",
    "What is the pump?",
    "It is. 是。",
    datetime(2026, 1, 2, tzinfo=UTC),
    (SOURCE,),
    (CITED,),
)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ThreadStore]:
    async with opened(tmp_path) as one:
        yield one


class opened:
    def __init__(self, directory: Path, bounds: ThreadBounds | None = None) -> None:
        self._store = ThreadStore(directory, bounds or ThreadBounds())

    async def __aenter__(self) -> ThreadStore:
        await self._store.open()
        return self._store

    async def __aexit__(self, *error: object) -> None:
        await self._store.close()


async def test_a_turn_comes_back_as_it_was(store: ThreadStore) -> None:
    name = await store.append(ANN, "", TURN)
    assert await store.append(ANN, name, replace(TURN, question="more")) == name
    thread, turns = await store.read(ANN, name)
    assert turns == (TURN, replace(TURN, question="more"))
    assert (thread.title, thread.turns) == (TURN.question, 2)
    assert [turn.question for turn in (await store.read(ANN, name, 1))[1]] == ["more"]


@pytest.mark.parametrize("other", [BOB, FOREIGN, Owner("", ""), Owner("acme", "")])
async def test_no_other_caller_reaches_a_thread_and_is_told_the_same_as_of_none(
    store: ThreadStore, other: Owner
) -> None:
    name = await store.append(ANN, "", TURN)
    for call in (store.read(other, name), store.delete(other, name), store.append(other, name, TURN)):
        with pytest.raises(NotFound) as refused:
            await call
        assert str(refused.value).replace(name, "x") == str(await none(store)).replace("0" * 32, "x")
    token = (await store.list(ANN, limit=1)).next_token
    assert not (await store.list(other, token)).threads
    assert (await store.read(ANN, name))[0].turns == 1


async def none(store: ThreadStore) -> NotFound:
    with pytest.raises(NotFound) as refused:
        await store.read(ANN, "0" * 32)
    return refused.value


async def test_pages_are_newest_first_and_every_thread_stands_once(store: ThreadStore) -> None:
    names = [await store.append(ANN, "", replace(TURN, question=f"q{n}")) for n in range(7)]
    await store.append(BOB, "", TURN)
    await store.append(ANN, names[0], TURN)
    expected, seen, token = [names[0], *reversed(names[1:])], [], ""
    while True:
        page = await store.list(ANN, token, 3)
        seen += [thread.thread_id for thread in page.threads]
        if not (token := page.next_token):
            break
    assert seen == expected


@pytest.mark.parametrize("token", ["!", "水泵", "MTIz", "YTpi", "x" * 10_000])
async def test_a_token_that_no_answer_gave_is_refused(store: ThreadStore, token: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await store.list(ANN, token)
    assert refused.value.field == "page_token"


async def test_a_deleted_thread_is_gone_with_its_words(store: ThreadStore, tmp_path: Path) -> None:
    secret = "the-very-secret-word"
    name = await store.append(ANN, "", replace(TURN, question=secret, answer=secret))
    await store.delete(ANN, name)
    assert not (await store.list(ANN)).threads
    await store.close()
    assert not holds(tmp_path, secret)


def holds(directory: Path, text: str) -> bool:
    return any(text.encode() in path.read_bytes() for path in directory.iterdir())


async def test_a_full_thread_takes_no_more(tmp_path: Path) -> None:
    async with opened(tmp_path, ThreadBounds(turns=2)) as store:
        name = await store.append(ANN, "", TURN)
        await store.require_space(ANN, name)
        await store.append(ANN, name, TURN)
        for call in (store.require_space(ANN, name), store.append(ANN, name, TURN)):
            with pytest.raises(PreconditionFailed, match="start a new one"):
                await call
        assert (await store.read(ANN, name))[0].turns == 2


async def test_a_thread_stays_within_one_message(tmp_path: Path) -> None:
    async with opened(tmp_path, ThreadBounds(thread_bytes=6000)) as store:
        name = await store.append(ANN, "", replace(TURN, answer="x" * 3000))
        for call in (store.append(ANN, name, replace(TURN, answer="x" * 3000)), store.require_space(ANN, name)):
            with pytest.raises(PreconditionFailed, match="start a new one"):
                await call
        assert (await store.read(ANN, name))[0].turns == 1


async def test_a_callers_oldest_thread_gives_way_and_nobody_elses(tmp_path: Path) -> None:
    async with opened(tmp_path, ThreadBounds(threads=2)) as store:
        theirs = await store.append(BOB, "", TURN)
        first, second = await store.append(ANN, "", TURN), await store.append(ANN, "", TURN)
        await store.append(ANN, first, TURN)
        third = await store.append(ANN, "", TURN)
        assert [thread.thread_id for thread in (await store.list(ANN)).threads] == [third, first]
        with pytest.raises(NotFound):
            await store.read(ANN, second)
        assert (await store.read(BOB, theirs))[0].turns == 1


async def test_a_tenants_bytes_are_bounded_and_others_threads_stay(tmp_path: Path) -> None:
    big = replace(TURN, answer="x" * 3000)
    async with opened(tmp_path, ThreadBounds(tenant_bytes=9000, turn_bytes=5000)) as store:
        old = await store.append(ANN, "", big)
        theirs = await store.append(BOB, "", big)
        new = await store.append(ANN, "", big)
        assert [thread.thread_id for thread in (await store.list(ANN)).threads] == [new]
        await store.append(BOB, theirs, TURN)
        with pytest.raises(PreconditionFailed):
            await store.append(ANN, new, big)
        assert (await store.read(ANN, new))[0].turns == 1
        assert (await store.read(BOB, theirs))[0].turns == 2
        with pytest.raises(NotFound):
            await store.read(ANN, old)
        with pytest.raises(PreconditionFailed):
            await store.append(FOREIGN, "", replace(TURN, answer="x" * 6000))


async def test_many_at_once_lose_no_turn(store: ThreadStore) -> None:
    name = await store.append(ANN, "", TURN)
    await asyncio.gather(*(store.append(ANN, name, replace(TURN, question=str(n))) for n in range(50)))
    _, turns = await store.read(ANN, name)
    assert {turn.question for turn in turns[1:]} == {str(n) for n in range(50)}


DRIVER = """
import asyncio, sys
from pathlib import Path
from gateway.threads.bounds import ThreadBounds
from gateway.threads.store import ThreadStore
from tests.unit.gateway.test_threads import ANN, TURN

async def main() -> None:
    store = ThreadStore(Path(sys.argv[1]), ThreadBounds(turns=100_000))
    await store.open()
    name = await store.append(ANN, "", TURN)
    while True:
        print(name, flush=True)
        await store.append(ANN, name, TURN)

asyncio.run(main())
"""


async def test_what_was_kept_survives_kill_9(tmp_path: Path) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DRIVER, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    async with asyncio.timeout(30):
        lines = [await child.stdout.readline() for _ in range(25)]
        os.kill(child.pid, signal.SIGKILL)
        await child.wait()
        lines += (await child.stdout.read()).splitlines()
    async with opened(tmp_path, ThreadBounds(turns=100_000)) as store:
        thread, turns = await store.read(ANN, lines[0].decode().strip())
    assert len(turns) == thread.turns >= len([line for line in lines if line.strip()])
    assert set(turns) == {TURN}


async def test_a_file_of_another_version_or_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "threads.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(PreconditionFailed, match="threads_dir"):
        async with opened(tmp_path):
            pass
