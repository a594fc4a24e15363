"""Deaths, deadlines, hang-ups and crowds: an answer or a prompt error, never a hang."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, aclosing

import pytest

from citemesh.client import Mesh
from citemesh.client.types import DeltaEvent, DoneEvent, Question, Sampling, Upload
from citemesh.errors import DeadlineExceeded, Overloaded, Unavailable
from citemesh.kit import call_context
from tests.support import corpus
from tests.support.asking import ask, ingest
from tests.support.collector import Collector
from tests.support.running import RunningMesh

LONG = "Describe everything the documents say about certificates, proxies and debugging, in detail."
Traced = Callable[[], tuple[str, AbstractContextManager[object]]]


@pytest.fixture
async def client(mesh: RunningMesh) -> AsyncIterator[Mesh]:
    async with mesh.client() as caller:
        await ingest(caller, [corpus.upload(path) for path in corpus.english()])
        yield caller


async def running_requests(insider: Mesh) -> int:
    return sum(model.running_requests + model.waiting_requests for model in await insider.generation.list())


async def until_idle(insider: Mesh, within_s: float) -> None:
    async with asyncio.timeout(within_s):
        while await running_requests(insider):
            await asyncio.sleep(0.02)


async def test_a_caller_that_hangs_up_frees_the_engine(mesh: RunningMesh, client: Mesh) -> None:
    async with mesh.insider() as insider:
        async with aclosing(client.query.ask(Question(LONG, max_tokens=400, skip_cache=True))) as events:  # type: ignore[type-var]
            async for event in events:
                if isinstance(event, DeltaEvent):
                    break
            assert await running_requests(insider) == 1
        await until_idle(insider, 2.0)


async def test_a_deadline_ends_the_work_in_every_service(
    mesh: RunningMesh, client: Mesh, collector: Collector, traced: Traced
) -> None:
    trace_id, within = traced()
    start = time.monotonic()
    with within:
        outcome = await in_time(client, 0.2)
    assert outcome in {"deadline", "extractive"}
    assert time.monotonic() - start < 1.5
    async with mesh.insider() as insider:
        await until_idle(insider, 2.0)
    spans = await collector.until(trace_id, lambda found: any(span.name == "citemesh.ask" for span in found))
    assert spans
    # A span is exported when it ends: nothing of this call went on much longer than its deadline.
    first = min(span.start_s for span in spans)
    assert max(span.end_s for span in spans) - first < 2.0


async def in_time(client: Mesh, timeout_s: float) -> str:
    """What a caller in a hurry gets: an extractive answer where one can be had in time, else its deadline."""
    try:
        return (await ask(client, LONG, timeout_s=timeout_s, max_tokens=400)).done.mode
    except DeadlineExceeded:
        return "deadline"


async def test_a_deadline_ends_the_engines_work(mesh: RunningMesh) -> None:
    async with mesh.insider() as insider:
        start = time.monotonic()
        with call_context.calling(call_context.from_headers({}, 0.2)), pytest.raises(DeadlineExceeded):
            async for _ in insider.generation.generate(range(100, 140), sampling=Sampling(max_tokens=400)):
                pass
        assert time.monotonic() - start < 1.0
        await until_idle(insider, 1.0)


async def test_an_answer_that_would_be_late_ends_in_time(client: Mesh) -> None:
    answer = await ask(client, LONG, timeout_s=4.0, max_tokens=400)
    assert answer.seconds < 4.0
    assert answer.text
    assert answer.done.finish in {"complete", "interrupted", "length"}


async def test_thirty_two_callers_at_once(client: Mesh) -> None:
    async def one(number: int) -> str:
        start = time.monotonic()
        try:
            answer = await ask(client, f"How does the gRPC proxy work? ({number})", timeout_s=90, max_tokens=24)
        except Overloaded as error:
            return "refused" if error.retry_after_s > 0 and time.monotonic() - start < 10 else "refused late"
        assert answer.sources
        assert answer.text
        assert time.monotonic() - start < 91
        return answer.done.finish

    outcomes = await asyncio.gather(*(one(number) for number in range(32)))
    assert set(outcomes) <= {"complete", "length", "refused"}
    assert len([outcome for outcome in outcomes if outcome != "refused"]) >= 8


async def test_generation_killed_in_the_middle_of_an_answer(mesh: RunningMesh, client: Mesh) -> None:
    restarts = mesh.restarts("generation")
    killed_at = 0.0
    finish = ""
    try:
        async with aclosing(client.query.ask(Question(LONG, max_tokens=400, skip_cache=True))) as events:  # type: ignore[type-var]
            async for event in events:
                if isinstance(event, DeltaEvent) and not killed_at:
                    await mesh.kill("generation")
                    killed_at = time.monotonic()
                if isinstance(event, DoneEvent):
                    finish = event.finish
    except Unavailable:
        finish = "unavailable"
    assert time.monotonic() - killed_at < 2.0
    assert finish in {"interrupted", "unavailable"}
    await mesh.ready("generation", restarts + 1)
    answer = await ask(client, "How does the gRPC proxy work?", max_tokens=32)
    assert answer.done.mode == "generated"


async def test_while_generation_is_down_the_answer_is_extractive(mesh: RunningMesh, client: Mesh) -> None:
    restarts = mesh.restarts("generation")
    await mesh.kill("generation")
    answer = await ask(client, "How does the gRPC proxy work?", timeout_s=20)
    assert answer.done.mode == "extractive"
    assert answer.done.notice
    assert answer.citations
    assert answer.seconds < 10
    await mesh.ready("generation", restarts + 1)


async def _ingest_and_kill(
    mesh: RunningMesh, client: Mesh, uploads: list[Upload], acknowledged: dict[str, str]
) -> None:
    async for progress in client.documents.ingest(uploads):
        if progress.state == "committed":
            acknowledged[progress.correlation_id] = progress.document_id
            if len(acknowledged) == 12:
                await mesh.kill("retrieval")


async def test_retrieval_killed_during_ingestion_loses_nothing_acknowledged(mesh: RunningMesh) -> None:
    restarts = mesh.restarts("retrieval")
    acknowledged: dict[str, str] = {}
    async with mesh.client() as client:
        await client.collections.create("crash")
        uploads = [
            Upload(str(n), f"# Note {n}\n\nThe cupboard number {n} holds kettle{n}.\n".encode(), collection="crash")
            for n in range(400)
        ]
        with pytest.raises(Unavailable):
            await _ingest_and_kill(mesh, client, uploads, acknowledged)
        assert len(acknowledged) >= 12
        await mesh.ready("retrieval", restarts + 1)
        for number, document_id in acknowledged.items():
            _, text = await client.documents.get(document_id, "crash")
            assert f"kettle{number}" in text
        number, document_id = next(iter(acknowledged.items()))
        found = await client.retrieval.search(f"Where is kettle{number}?", "crash", mode="lexical")
        assert document_id in {passage.document_id for passage in found}
        last = await ingest(client, uploads)
        assert all(last[number].state == "unchanged" for number in acknowledged)
        assert (await client.collections.get("crash")).documents == 400
