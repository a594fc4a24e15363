"""Messages of the query service to plain values and back."""

from citemesh.api.common.v1 import span_pb2, usage_pb2
from citemesh.api.query.v1 import query_service_pb2 as pb
from citemesh.client import types
from citemesh.errors import InvalidInput

MODES = {
    pb.ANSWER_MODE_UNSPECIFIED: "",
    pb.ANSWER_MODE_GENERATED: "generated",
    pb.ANSWER_MODE_EXTRACTIVE: "extractive",
}
MODE_CODES = {name: code for code, name in MODES.items()}
FINISHES = {
    "complete": pb.ANSWER_FINISH_COMPLETE,
    "length": pb.ANSWER_FINISH_LENGTH,
    "interrupted": pb.ANSWER_FINISH_INTERRUPTED,
    "no_sources": pb.ANSWER_FINISH_NO_SOURCES,
}


def question(request: pb.AskRequest) -> types.Question:
    """What is asked. Raises InvalidInput for a mode that this version doesn't know."""
    if request.mode not in MODES:
        raise InvalidInput("mode", f"{request.mode} is no mode", "use GENERATED or EXTRACTIVE")
    return types.Question(
        question=request.question,
        collection=request.collection,
        mode=MODES[request.mode],
        max_tokens=request.max_tokens,
        source_types=tuple(request.source_types),
        temperature=request.temperature if request.HasField("temperature") else None,
        thread_id=request.thread_id,
    )


def response(event: types.AskEvent) -> pb.AskResponse:
    """An event as a message."""
    match event:
        case types.PlanEvent():
            return pb.AskResponse(plan=pb.PlanEvent(question=event.question, hops=event.hops))
        case types.SearchEvent():
            return pb.AskResponse(search=pb.SearchEvent(hop=event.hop, query=event.query, found=event.found))
        case types.SourcesEvent():
            return pb.AskResponse(sources=pb.SourcesEvent(sources=map(source, event.sources)))
        case types.DeltaEvent():
            return pb.AskResponse(delta=pb.DeltaEvent(text=event.text))
        case types.CitationEvent():
            return pb.AskResponse(citation=_citation_event(event))
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
    )
