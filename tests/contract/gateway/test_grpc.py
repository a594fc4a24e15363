"""The gateway over gRPC: what a caller of any language sees."""

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest

from citemesh.api.query.v1 import query_service_pb2 as pb
from citemesh.api.query.v1 import thread_service_pb2 as threads
from citemesh.api.query.v1.query_service_pb2_grpc import QueryServiceStub
from citemesh.api.query.v1.thread_service_pb2_grpc import ThreadServiceStub
from citemesh.client.types import AskEvent, DeltaEvent, FollowUpsEvent, MetadataCondition, Question, SearchFilter
from citemesh.errors import DeadlineExceeded, InvalidInput, NotFound, Overloaded, Unavailable
from citemesh.kit import call_context
from tests.contract.gateway.gateway_service import Running, gateway
from tests.unit.gateway.query import fakes

ASKED = "At what pressure does the pump run?"


async def ask(running: Running, question: Question | None = None) -> list[AskEvent]:
    return [event async for event in running.client.query.ask(question or Question(ASKED))]


async def until_idle(running: Running) -> None:
    async with asyncio.timeout(5):
        while running.mesh.generation.running:
            await asyncio.sleep(0.01)


async def test_ask_streams_a_sound_answer() -> None:
    async with gateway() as running:
        said = await ask(running)
    fakes.assert_sound(said)
    assert fakes.answer_of(said) == "The pump runs at 40 bar. It was built in 1987."
    assert len([event for event in said if isinstance(event, DeltaEvent)]) > 1
    assert fakes.done_of(said).mode == "generated"


async def test_every_field_of_a_question_arrives() -> None:
    async with gateway() as running:
        question = Question(ASKED, "manuals", "generated", 17, ("pdf",), 0.5)
        await ask(running, question)
        assert running.mesh.retrieval.asked == [(ASKED, "manuals", ("pdf",))]
        sampling = running.mesh.generation.sampling
        assert sampling is not None
        assert (sampling.max_tokens, sampling.temperature) == (17, 0.5)


async def test_every_new_field_of_a_question_arrives() -> None:
    day = datetime(2024, 5, 1, tzinfo=UTC)
    conditions = (MetadataCondition("price", numbers=(1.0, None)), MetadataCondition("day", texts=("2024", "")))
    chosen = SearchFilter(
        ("d1",), ("pdf",), ("-a.org",), ("en",), day, None, {"k": "v"}, (*conditions, MetadataCondition("x", ("y",)))
    )
    fields: dict[str, Any] = {"length": "detailed", "style": "steps", "answer_language": "en", "related_questions": 5}
    question = Question(ASKED, "a", filter=chosen, more_collections=("b",), max_hops=1, skip_cache=True, **fields)
    async with gateway(sources=1) as running:
        for _ in range(2):
            said = await ask(running, question)
        searches = running.mesh.retrieval.searches
        assert [(one.collection, one.filter) for one in searches] == [("a", chosen), ("b", chosen)] * 2
        prompt = fakes.text_of(running.mesh.generation.prompts[-1])
        assert "in English in detail as numbered steps" in prompt
        assert any(isinstance(event, FollowUpsEvent) for event in said)
        assert not fakes.done_of(said).cached
        found = await running.client.query.search("pump", "a", 3, (), chosen, ("b",))
        assert found
        assert [(one.collection, one.filter) for one in searches[-2:]] == [("a", chosen), ("b", chosen)]


async def test_a_kept_answer_says_so() -> None:
    async with gateway() as running:
        first, second = await ask(running), await ask(running)
        assert [fakes.done_of(said).cached for said in (first, second)] == [False, True]
        assert fakes.answer_of(first) == fakes.answer_of(second)
        running.mesh.retrieval.sequence += 1
        assert not fakes.done_of(await ask(running)).cached


async def test_search_answers_numbered_sources() -> None:
    async with gateway() as running:
        sources = await running.client.query.search("pump oil", top_k=2)
        assert [source.number for source in sources] == [1, 2]
        assert sources[0].document_id == "d1"
        for top_k in (-1, 101):
            with pytest.raises(InvalidInput, match="top_k"):
                await running.client.query.search("pump", top_k=top_k)


@pytest.mark.parametrize("question", ["", "   \n", "x" * 1_000_000])
async def test_bad_questions_name_the_field(question: str) -> None:
    async with gateway() as running:
        with pytest.raises(InvalidInput) as refused:
            await ask(running, Question(question))
        assert refused.value.field == "question"


async def test_errors_of_the_services_come_through() -> None:
    mesh = fakes.Mesh()
    async with gateway(mesh) as running:
        for error in (NotFound("collection", "nope"), Unavailable("retrieval")):
            mesh.retrieval.error = error
            with pytest.raises(type(error)):
                await ask(running)


async def test_an_unknown_mode_number_is_refused() -> None:
    async with gateway() as running:
        stub = QueryServiceStub(running.client.channel("gateway"))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            async for _ in stub.Ask(pb.AskRequest(question="q", mode=77)):  # type: ignore[arg-type]  # on purpose
                pass
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "mode" in (refused.value.details() or "")


def caller(subject: str, tenant: str = "acme") -> tuple[tuple[str, str], ...]:
    """What the identity policy says of a caller."""
    return (("x-citemesh-subject", subject), ("x-citemesh-tenant", tenant))


async def asked_by(running: Running, who: tuple[tuple[str, str], ...], **fields: Any) -> pb.DoneEvent:
    stub = QueryServiceStub(running.client.channel("gateway"))
    said = [event async for event in stub.Ask(pb.AskRequest(**fields), metadata=who)]
    return said[-1].done


async def test_a_thread_is_begun_continued_listed_read_and_deleted() -> None:
    async with gateway() as running:
        stub, ann = ThreadServiceStub(running.client.channel("gateway")), caller("ann")
        name = (await asked_by(running, ann, question=ASKED, start_thread=True)).thread_id
        assert (await asked_by(running, ann, question="When was it built?", thread_id=name)).thread_id == name
        assert running.mesh.retrieval.asked[-1][0] == "When was the pump built?"
        listed = await stub.ListThreads(threads.ListThreadsRequest(), metadata=ann)
        assert [(one.thread_id, one.title, one.turns) for one in listed.threads] == [(name, ASKED, 2)]
        read = await stub.GetThread(threads.GetThreadRequest(thread_id=name), metadata=ann)
        assert [turn.question for turn in read.turns] == [ASKED, "When was it built?"]
        assert read.turns[0].answer == "The pump runs at 40 bar. It was built in 1987."
        assert {source.document_id for source in read.turns[0].sources} == {"d1", "d2"}
        assert [event.supported for event in read.turns[0].citations] == [True, True]
        assert read.turns[0].asked_at.ToDatetime().year > 2000
        await stub.DeleteThread(threads.DeleteThreadRequest(thread_id=name), metadata=ann)
        assert not (await stub.ListThreads(threads.ListThreadsRequest(), metadata=ann)).threads


async def test_no_other_caller_reaches_a_thread_by_any_field() -> None:
    async with gateway() as running:
        stub = ThreadServiceStub(running.client.channel("gateway"))
        name = (await asked_by(running, caller("ann"), question=ASKED, start_thread=True)).thread_id
        for who in (caller("bob"), caller("ann", "other"), ()):
            for asked in (name, "0" * 32):
                calls = (
                    stub.GetThread(threads.GetThreadRequest(thread_id=asked), metadata=who),
                    stub.DeleteThread(threads.DeleteThreadRequest(thread_id=asked), metadata=who),
                    QueryServiceStub(running.client.channel("gateway")).Ask(
                        pb.AskRequest(question="q", thread_id=asked), metadata=who
                    ),
                )
                for call in calls:
                    assert await call.code() is grpc.StatusCode.NOT_FOUND
                    assert (await call.details()).replace(asked, "x") == (
                        "no thread named 'x'; list your threads, or start a new one"
                    )
            assert not (await stub.ListThreads(threads.ListThreadsRequest(), metadata=who)).threads
        assert len(running.mesh.retrieval.asked) == 1


async def test_threads_outlive_the_gateway_and_name_bad_fields() -> None:
    async with gateway() as running:
        stub, ann = ThreadServiceStub(running.client.channel("gateway")), caller("ann")
        for call in (
            stub.GetThread(threads.GetThreadRequest(), metadata=ann),
            stub.ListThreads(threads.ListThreadsRequest(page_size=1001), metadata=ann),
            stub.ListThreads(threads.ListThreadsRequest(page_token="!"), metadata=ann),
        ):
            assert await call.code() is grpc.StatusCode.INVALID_ARGUMENT
        for _ in range(3):
            await asked_by(running, ann, question=ASKED, start_thread=True)
        first = await stub.ListThreads(threads.ListThreadsRequest(page_size=2), metadata=ann)
        rest = threads.ListThreadsRequest(page_size=2, page_token=first.next_page_token)
        second = await stub.ListThreads(rest, metadata=ann)
        assert (len(first.threads), len(second.threads), second.next_page_token) == (2, 1, "")


async def test_history_of_the_callers_own_stands_in_for_a_thread() -> None:
    async with gateway() as running:
        said = (("user", "Who wrote Dracula?"), ("assistant", "Bram Stoker wrote it."))
        await ask(running, Question("When was he born?", history=said))
        assert running.mesh.retrieval.asked[-1][0] == "When was Bram Stoker born?"


async def test_a_caller_that_hangs_up_ends_the_work() -> None:
    mesh = fakes.Mesh(generation=fakes.FakeGeneration(("One. ", "Two. "), hang=True))
    async with gateway(mesh) as running:
        async with aclosing(running.client.query.ask(Question(ASKED))) as events:  # type: ignore[type-var]
            async for event in events:
                if isinstance(event, DeltaEvent):
                    assert mesh.generation.running == 1
                    break
        await until_idle(running)


async def test_a_deadline_ends_the_work() -> None:
    mesh = fakes.Mesh()
    mesh.reranker.gate = asyncio.Event()
    async with gateway(mesh, cite_s=30, reserve_s=0.0) as running:
        with pytest.raises(DeadlineExceeded):
            async for _ in running.client.query.ask(Question(ASKED), timeout_s=0.2):
                pass
        await until_idle(running)


async def test_more_callers_than_places_are_refused_and_all_others_answered() -> None:
    gate = asyncio.Event()

    async def pause() -> None:
        await gate.wait()

    mesh = fakes.Mesh(generation=fakes.FakeGeneration(pause=pause))
    async with gateway(mesh, concurrency=4, queue_interactive=8) as running:
        tasks = [asyncio.create_task(ask(running)) for _ in range(32)]
        async with asyncio.timeout(10):
            while sum(task.done() for task in tasks) < 20:
                await asyncio.sleep(0.01)
        gate.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        answered = [result for result in results if isinstance(result, list)]
        refused = [result for result in results if isinstance(result, Overloaded)]
        assert (len(answered), len(refused)) == (12, 20)
        assert all(error.retry_after_s > 0 for error in refused)
        for said in answered:
            fakes.assert_sound(said)


async def test_priority_takes_its_own_line() -> None:
    mesh = fakes.Mesh(generation=fakes.FakeGeneration(hang=True))
    async with gateway(mesh, concurrency=1, queue_interactive=0, queue_batch=1) as running:
        holding = asyncio.create_task(ask(running))
        async with asyncio.timeout(5):
            while not mesh.generation.running:
                await asyncio.sleep(0.01)
        with pytest.raises(Overloaded):
            await ask(running)
        batch = call_context.CallContext(asyncio.get_running_loop().time() + 0.3, priority=1)
        with call_context.calling(batch), pytest.raises(DeadlineExceeded):
            await ask(running)
        holding.cancel()
        await asyncio.wait({holding})
