"""Questions answered later: what is kept, refused, begun again and given up."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from citemesh.errors import NotFound, Overloaded, PreconditionFailed, Unavailable
from citemesh.kit import call_context
from gateway.jobs.job import Job, JobBounds, JobRequest
from gateway.jobs.runner import Runner
from gateway.jobs.store import JobStore
from gateway.threads.owner import Owner, current_owner

ANN, EVE = Owner("acme", "user:ann"), Owner("acme", "user:eve")
ASKED = JobRequest(ANN, "notes", "sonar", "http://x/", {"messages": [{"role": "user", "content": "泵 🙂?"}]})
BOUNDS = JobBounds(unfinished=2, unfinished_in_all=3, kept=3, request_bytes=500, wait_s=100, keep_s=1000, tries=2)


@dataclass
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(tmp_path: Path, clock: Clock) -> AsyncIterator[JobStore]:
    opened = JobStore(tmp_path, BOUNDS, clock)
    await opened.open()
    yield opened
    await opened.close()


async def begun(store: JobStore) -> Job:
    job = await store.begin()
    assert job is not None
    return job


async def test_a_job_goes_its_way(store: JobStore, clock: Clock) -> None:
    made = await store.add(ASKED)
    assert (made.status, made.created_at, made.asked) == ("CREATED", 1_000_000, ASKED)
    clock.now += 5
    job = await begun(store)
    assert (job.id, job.status, job.started_at, job.tries) == (made.id, "IN_PROGRESS", 1_000_005, 1)
    assert await store.begin() is None
    await store.end(job, {"text": "四十 bar"})
    found = await store.get(ANN, made.id)
    assert (found.status, found.response, found.ended_at) == ("COMPLETED", {"text": "四十 bar"}, 1_000_005)


async def test_nobody_sees_anothers(store: JobStore) -> None:
    made = await store.add(ASKED)
    with pytest.raises(NotFound) as others:
        await store.get(EVE, made.id)
    with pytest.raises(NotFound) as nobodys:
        await store.get(EVE, "x")
    assert str(others.value).replace(made.id, "x") == str(nobodys.value)
    assert await store.list(EVE) == ()
    keyed = replace(ASKED, key="mine")
    assert (await store.add(keyed)).id != (await store.add(replace(keyed, owner=EVE))).id


async def test_unfinished_ones_are_bounded_for_each_and_in_all(store: JobStore) -> None:
    first = await store.add(replace(ASKED, key="a"))
    await store.add(ASKED)
    with pytest.raises(Overloaded, match="your list"):
        await store.add(ASKED)
    assert (await store.add(replace(ASKED, key="a"))).id == first.id, "it is there already, and no new one"
    await store.add(replace(ASKED, owner=EVE))
    with pytest.raises(Overloaded, match="the list"):
        await store.add(replace(ASKED, owner=EVE))
    with pytest.raises(PreconditionFailed, match="500 bytes"):
        await store.add(replace(ASKED, request={"messages": "x" * 600}))


async def test_the_oldest_that_is_done_gives_way(store: JobStore) -> None:
    waiting = await store.add(ASKED)
    other = await store.add(replace(ASKED, owner=EVE))
    ids = []
    for _ in range(5):
        ids.append((await store.add(ASKED)).id)
        job = await store.begin()
        while job is not None and job.id != ids[-1]:
            job = await store.begin()
        assert job is not None
        await store.end(job, {"n": 1})
    kept = [one.id for one in await store.list(ANN)]
    assert kept[:3] == ids[:1:-1]
    assert {waiting.id, *ids[2:]} == set(kept), "what isn't done stays"
    assert [one.id for one in await store.list(EVE)] == [other.id]


async def test_pages(store: JobStore) -> None:
    made = [await store.add(ASKED) for _ in range(2)]
    [newest] = await store.list(ANN, limit=1)
    [older] = await store.list(ANN, newest.place, 1)
    assert [newest.id, older.id] == [made[1].id, made[0].id]
    assert await store.list(ANN, older.place) == ()


async def test_what_waits_too_long_fails_and_what_is_done_too_long_goes(store: JobStore, clock: Clock) -> None:
    made = await store.add(ASKED)
    clock.now += BOUNDS.wait_s + 1
    assert await store.begin() is None
    found = await store.get(ANN, made.id)
    assert (found.status, found.error) == ("FAILED", "it was not begun in time")
    clock.now += BOUNDS.keep_s + 1
    await store.begin()
    with pytest.raises(NotFound):
        await store.get(ANN, made.id)


async def test_what_was_in_progress_at_the_end_is_begun_again_but_not_for_ever(tmp_path: Path, clock: Clock) -> None:
    status = []
    for at in range(4):
        store = JobStore(tmp_path, BOUNDS, clock)
        await store.open()
        if at == 0:
            made = await store.add(ASKED)
        await store.begin()
        status.append((await store.get(ANN, made.id)).status)
        await store.close()
    assert status == ["IN_PROGRESS", "IN_PROGRESS", "FAILED", "FAILED"]


async def test_a_file_of_another_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "jobs.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(PreconditionFailed):
        await JobStore(tmp_path).open()
    with pytest.raises(Unavailable):
        await JobStore(tmp_path).list(ANN)


async def ended(runner: Runner, job: Job) -> Job:
    async with asyncio.timeout(5):
        while (found := await runner.store.get(job.asked.owner, job.id)).ended_at is None:
            await asyncio.sleep(0.01)
    return found


def running(folder: Path, answer: Any, run_s: float = 5.0) -> Runner:
    return Runner(JobStore(folder), answer, str, run_s)


async def test_a_job_is_answered_as_its_caller_would_have_been(tmp_path: Path) -> None:
    seen: list[Any] = []

    async def answer(job: Job) -> dict[str, Any]:
        scope = call_context.current_scope()
        seen.append((current_owner(), call_context.current_priority(), scope.allows("notes"), scope.allows("others")))
        seen.append(call_context.remaining_s(1000) < 5.1)
        return {"asked": job.asked.request}

    runner = running(tmp_path, answer)
    await runner.start()
    done = await ended(runner, await runner.add(ASKED))
    assert (done.status, done.response) == ("COMPLETED", {"asked": ASKED.request})
    assert seen == [(ANN, call_context.PRIORITIES["background"], True, False), True]
    await runner.stop()


async def test_no_place_is_waited_for_and_other_failures_are_told(tmp_path: Path) -> None:
    tries: list[str] = []

    async def answer(job: Job) -> dict[str, Any]:
        tries.append(job.asked.model)
        if job.asked.model == "bad":
            raise NotFound("collection", "x")
        if len(tries) < 3:
            raise Overloaded("the queue", 0.0)
        return {"n": len(tries)}

    runner = running(tmp_path, answer)
    await runner.start()
    assert (await ended(runner, await runner.add(ASKED))).response == {"n": 3}
    failed = await ended(runner, await runner.add(replace(ASKED, model="bad")))
    assert (failed.status, failed.response) == ("FAILED", None)
    assert "no collection named 'x'" in failed.error
    await runner.stop()


async def test_a_job_has_an_end(tmp_path: Path) -> None:
    async def answer(job: Job) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    runner = running(tmp_path, answer, run_s=0.05)
    await runner.start()
    done = await ended(runner, await runner.add(ASKED))
    assert (done.status, "deadline passed" in done.error) == ("FAILED", True)
    await runner.stop()


async def test_the_next_start_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def hangs(job: Job) -> dict[str, Any]:
        begun.set()
        await asyncio.Event().wait()
        return {}

    async def answers(job: Job) -> dict[str, Any]:
        return {"tries": job.tries}

    first = running(tmp_path, hangs)
    await first.start()
    job = await first.add(ASKED)
    await asyncio.wait_for(begun.wait(), 5)
    await first.stop()
    second = running(tmp_path, answers)
    await second.start()
    assert (await ended(second, job)).response == {"tries": 2}
    await second.stop()
