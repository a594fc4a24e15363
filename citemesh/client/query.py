"""Client of the gateway's questions."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from datetime import UTC

from citemesh.api.query.v1 import query_service_pb2 as pb
from citemesh.api.query.v1.query_service_pb2_grpc import QueryServiceStub
from citemesh.client import convert, types
from citemesh.client.transport.caller import Caller

ASK_TIMEOUT_S = 600.0
EVERYTHING = types.SearchFilter()


class QueryClient:
    """Answers questions."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = QueryServiceStub(caller.channel)

    async def ask(self, question: types.Question, timeout_s: float = ASK_TIMEOUT_S) -> AsyncIterator[types.AskEvent]:
        """Streams the events of an answer. Closing the iteration cancels it on every hop."""
        calls = self._caller.stream(self._stub.Ask, _request(question), timeout_s)
        async with aclosing(calls) as responses:  # type: ignore[type-var]  # it is an async generator
            async for message in responses:
                yield _event(message)

    async def search(
        self,
        query: str,
        collection: str = "",
        top_k: int = 10,
        source_types: Sequence[str] = (),
        filter: types.SearchFilter = EVERYTHING,
        more_collections: Sequence[str] = (),
    ) -> tuple[types.Source, ...]:
        """Returns passages as Ask would find them, best first."""
        request = pb.SearchRequest(
            query=query,
            collection=collection,
            top_k=top_k,
            source_types=source_types,
            filter=convert.search_filter(filter),
            more_collections=more_collections,
        )
        answer = await self._caller.unary(self._stub.Search, request)
        return tuple(_source(message) for message in answer.sources)


def _request(question: types.Question) -> pb.AskRequest:
    return pb.AskRequest(
        question=question.question,
        collection=question.collection,
        mode=f"ANSWER_MODE_{question.mode.upper() or 'UNSPECIFIED'}",
        max_tokens=question.max_tokens,
        source_types=question.source_types,
        temperature=question.temperature,
        thread_id=question.thread_id,
        filter=convert.search_filter(question.filter),
        more_collections=question.more_collections,
        answer_language=question.answer_language,
        length=f"ANSWER_LENGTH_{question.length.upper() or 'UNSPECIFIED'}",
        style=f"ANSWER_STYLE_{question.style.upper() or 'UNSPECIFIED'}",
        related_questions=question.related_questions,
        skip_cache=question.skip_cache,
        max_hops=question.max_hops,
        history=(pb.EarlierTurn(role=f"TURN_ROLE_{role.upper()}", text=text) for role, text in question.history),
        start_thread=question.start_thread,
    )


def _event(message: pb.AskResponse) -> types.AskEvent:
    kind = message.WhichOneof("event")
    match kind:
        case "plan":
            return types.PlanEvent(message.plan.question, tuple(message.plan.hops))
        case "search":
            return types.SearchEvent(message.search.hop, message.search.query, message.search.found)
        case "sources":
            return types.SourcesEvent(tuple(_source(source) for source in message.sources.sources))
        case "delta":
            return types.DeltaEvent(message.delta.text)
        case "citation":
            return _citation_event(message.citation)
        case "follow_ups":
            return types.FollowUpsEvent(tuple(message.follow_ups.questions))
        case "done":
            return _done(message.done)
        case _:
            raise ValueError(f"the gateway sent an event that this client doesn't know: {kind}")


def _source(message: pb.Source) -> types.Source:
    return types.Source(
        message.number,
        message.chunk_id,
        message.document_id,
        message.collection,
        message.title,
        message.uri,
        convert.location(message.location),
        message.text,
        message.score,
        message.published_at.ToDatetime(tzinfo=UTC) if message.HasField("published_at") else None,
    )


def _citation_event(message: pb.CitationEvent) -> types.CitationEvent:
    citations = tuple(
        types.Citation(c.number, c.document_id, c.collection, convert.location(c.location), c.quote, c.score)
        for c in message.citations
    )
    return types.CitationEvent(convert.span(message.sentence), citations, message.supported)


def _done(message: pb.DoneEvent) -> types.DoneEvent:
    return types.DoneEvent(
        finish=pb.AnswerFinish.Name(message.finish).removeprefix("ANSWER_FINISH_").lower(),
        mode=pb.AnswerMode.Name(message.mode).removeprefix("ANSWER_MODE_").lower(),
        usage=convert.usage(message.usage),
        cited=tuple(message.cited),
        timings={timing.step: timing.milliseconds for timing in message.timings},
        notice=message.notice,
        model=message.model,
        thread_id=message.thread_id,
        cached=message.cached,
        searches=message.searches,
    )
