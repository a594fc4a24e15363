"""Messages of the query service to plain values and back."""

from citemesh.api.common.v1 import span_pb2, usage_pb2
from citemesh.api.query.v1 import query_service_pb2 as pb
from citemesh.api.query.v1 import thread_service_pb2 as thread_pb
from citemesh.api.retrieval.v1 import retrieval_service_pb2 as search_pb
from citemesh.client import types
from citemesh.contract.bounds import DEFAULT_PAGE, MOST_PAGE
from citemesh.errors import InvalidInput
from citemesh.kit.timestamps import datetime_of, timestamp
from gateway.threads.turn import Thread, Turn

MODES = {
    pb.ANSWER_MODE_UNSPECIFIED: "",
    pb.ANSWER_MODE_GENERATED: "generated",
    pb.ANSWER_MODE_EXTRACTIVE: "extractive",
}
MODE_CODES = {name: code for code, name in MODES.items()}
LENGTHS = {
    pb.ANSWER_LENGTH_UNSPECIFIED: "",
    pb.ANSWER_LENGTH_SHORT: "short",
    pb.ANSWER_LENGTH_STANDARD: "standard",
    pb.ANSWER_LENGTH_DETAILED: "detailed",
}
STYLES = {
    pb.ANSWER_STYLE_UNSPECIFIED: "",
    pb.ANSWER_STYLE_PROSE: "prose",
    pb.ANSWER_STYLE_LIST: "list",
    pb.ANSWER_STYLE_STEPS: "steps",
}
ROLES = {pb.TURN_ROLE_USER: "user", pb.TURN_ROLE_ASSISTANT: "assistant"}
FINISHES = {
    "complete": pb.ANSWER_FINISH_COMPLETE,
    "length": pb.ANSWER_FINISH_LENGTH,
    "interrupted": pb.ANSWER_FINISH_INTERRUPTED,
    "no_sources": pb.ANSWER_FINISH_NO_SOURCES,
}


def question(request: pb.AskRequest) -> types.Question:
    """What is asked. Raises InvalidInput for a value that this version doesn't know."""
    if request.mode not in MODES:
        raise InvalidInput("mode", f"{request.mode} is no mode", "use GENERATED or EXTRACTIVE")
    if request.length not in LENGTHS:
        raise InvalidInput("length", f"{request.length} is no length", "use SHORT, STANDARD or DETAILED")
    if request.style not in STYLES:
        raise InvalidInput("style", f"{request.style} is no style", "use PROSE, LIST or STEPS")
    return types.Question(
        question=request.question,
        collection=request.collection,
        mode=MODES[request.mode],
        max_tokens=request.max_tokens,
        source_types=tuple(request.source_types),
        temperature=request.temperature if request.HasField("temperature") else None,
        thread_id=request.thread_id,
        filter=search_filter(request.filter),
        more_collections=tuple(request.more_collections),
        answer_language=request.answer_language,
        length=LENGTHS[request.length],
        style=STYLES[request.style],
        related_questions=request.related_questions,
        skip_cache=request.skip_cache,
        max_hops=request.max_hops,
        history=tuple(_turn(at, turn) for at, turn in enumerate(request.history)),
        start_thread=request.start_thread,
    )


def search_filter(message: search_pb.SearchFilter) -> types.SearchFilter:
    """What a source must be; retrieval checks the values. Raises InvalidInput for a time that is none."""
    return types.SearchFilter(
        document_ids=tuple(message.document_ids),
        source_types=tuple(message.source_types),
        domains=tuple(message.domains),
        languages=tuple(message.languages),
        published_after=datetime_of(message, "published_after", "filter.published_after"),
        published_before=datetime_of(message, "published_before", "filter.published_before"),
        metadata=dict(message.metadata),
        conditions=tuple(map(_condition, message.conditions)),
    )


def _condition(message: search_pb.MetadataCondition) -> types.MetadataCondition:
    if message.HasField("number"):
        low = getattr(message.number, "from") if message.number.HasField("from") else None
        high = message.number.to if message.number.HasField("to") else None
        return types.MetadataCondition(message.key, numbers=(low, high))
    if message.HasField("text"):
        return types.MetadataCondition(message.key, texts=(getattr(message.text, "from"), message.text.to))
    return types.MetadataCondition(message.key, any_of=tuple(message.any_of.values))


def _turn(at: int, turn: pb.EarlierTurn) -> tuple[str, str]:
    if turn.role not in ROLES:
        raise InvalidInput(f"history[{at}].role", f"{turn.role} is no role", "use USER or ASSISTANT")
    return ROLES[turn.role], turn.text


def response(event: types.AskEvent) -> pb.AskResponse:
    """An event as a message."""
    match event:
        case types.PlanEvent():
            return pb.AskResponse(plan=pb.PlanEvent(question=event.question, hops=event.hops))
        case types.SearchEvent():
            return pb.AskResponse(search=pb.SearchEvent(hop=event.hop, query=event.query, found=event.passages))
        case types.SourcesEvent():
            return pb.AskResponse(sources=pb.SourcesEvent(sources=map(source, event.sources)))
        case types.DeltaEvent():
            return pb.AskResponse(delta=pb.DeltaEvent(text=event.text))
        case types.CitationEvent():
            return pb.AskResponse(citation=_citation_event(event))
        case types.FollowUpsEvent():
            return pb.AskResponse(follow_ups=pb.FollowUpsEvent(questions=event.questions))
        case types.DoneEvent():
            return pb.AskResponse(done=_done(event))


def source(value: types.Source) -> pb.Source:
    """A source as a message."""
    return pb.Source(
        number=value.number,
        chunk_id=value.chunk_id,
        document_id=value.document_id,
        collection=value.collection,
        title=value.title,
        uri=value.uri,
        location=_location(value.location),
        text=value.text,
        score=value.score,
        published_at=value.published_at,
    )


def thread_id(text: str) -> str:
    """A thread's id. Raises InvalidInput for an empty one."""
    if not text:
        raise InvalidInput("thread_id", "is empty", "send the id of one of your threads")
    return text


def page_size(asked: int) -> int:
    """Threads of a page. Raises InvalidInput for a number out of range."""
    if not 0 <= asked <= MOST_PAGE:
        raise InvalidInput("page_size", f"is {asked}", f"use 1 to {MOST_PAGE}, or 0 for {DEFAULT_PAGE}")
    return asked or DEFAULT_PAGE


def thread(value: Thread) -> thread_pb.Thread:
    """A thread as a message."""
    stamp = timestamp(value.updated_at)
    return thread_pb.Thread(thread_id=value.thread_id, title=value.title, updated_at=stamp, turns=value.turns)


def turn(value: Turn) -> thread_pb.Turn:
    """A turn as a message."""
    return thread_pb.Turn(
        question=value.question,
        answer=value.answer,
        sources=map(source, value.sources),
        citations=map(_citation_event, value.citations),
        asked_at=timestamp(value.asked_at),
    )


def _span(value: types.Span) -> span_pb2.Span:
    return span_pb2.Span(start=value.start, end=value.end)


def _location(value: types.Location) -> span_pb2.Location:
    return span_pb2.Location(span=_span(value.span), page=value.page, headings=value.headings)


def _citation_event(event: types.CitationEvent) -> pb.CitationEvent:
    citations = [
        pb.Citation(
            number=one.number,
            document_id=one.document_id,
            collection=one.collection,
            location=_location(one.location),
            quote=one.quote,
            score=one.score,
        )
        for one in event.citations
    ]
    return pb.CitationEvent(sentence=_span(event.sentence), citations=citations, supported=event.supported)


def _done(event: types.DoneEvent) -> pb.DoneEvent:
    usage = usage_pb2.Usage(
        prompt_tokens=event.usage.prompt_tokens,
        completion_tokens=event.usage.completion_tokens,
        cached_tokens=event.usage.cached_tokens,
    )
    timings = [pb.StepTiming(step=step, milliseconds=spent) for step, spent in event.timings.items()]
    return pb.DoneEvent(
        finish=FINISHES[event.finish],
        mode=MODE_CODES[event.mode],
        usage=usage,
        cited=event.cited,
        timings=timings,
        notice=event.notice,
        model=event.model,
        thread_id=event.thread_id,
        cached=event.cached,
        searches=event.searches,
    )
