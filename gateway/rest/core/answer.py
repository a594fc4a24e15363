"""A whole answer, gathered from its events."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from citemesh.client.types import (
    AskEvent,
    CitationEvent,
    DeltaEvent,
    DoneEvent,
    FollowUpsEvent,
    Source,
    SourcesEvent,
)
from gateway.query.pack.packing import documents
from gateway.rest.core.render import source
from gateway.rest.core.streaming.marked_text import MarkedText


@dataclass(slots=True)
class Answer:
    """What an answer's events add up to: text without markers, marked text with them, and the rest."""

    text: str = ""
    marked: str = ""
    sources: tuple[Source, ...] = ()
    sentences: list[CitationEvent] = field(default_factory=list)
    follow_ups: tuple[str, ...] = ()
    done: DoneEvent | None = None
    markers: MarkedText = field(default_factory=MarkedText)

    def take(self, event: AskEvent) -> str:
        """Adds an event; returns the marked text that it released."""
        match event:
            case DeltaEvent():
                self.text += event.text
            case SourcesEvent():
                chunk_ids = {passage.chunk_id for passage in self.sources}
                self.sources += tuple(passage for passage in event.sources if passage.chunk_id not in chunk_ids)
            case CitationEvent():
                self.sentences.append(event)
            case FollowUpsEvent():
                self.follow_ups = event.questions
            case DoneEvent():
                self.done = event
            case _:
                pass
        released = self.markers.feed(event)
        self.marked += released
        return released

    @property
    def ended(self) -> DoneEvent:
        """The last event; an answer always has one."""
        assert self.done is not None, "an answer ended without its last event"  # noqa: S101  # a bug, not input
        return self.done


def listed(answer: Answer, all_sources: bool) -> list[dict[str, Any]]:
    """The sources that an answer cites, by their numbers; all that it was given where they are asked for."""
    cited = answer.ended.cited
    rows = [source(document) | {"cited": document.number in cited} for document in documents(answer.sources)]
    return [row for row in rows if all_sources or row["cited"]]


async def gather(events: AsyncGenerator[AskEvent]) -> Answer:
    """Reads an answer to its end."""
    answer = Answer()
    async with aclosing(events):
        async for event in events:
            answer.take(event)
    return answer


async def begin(events: AsyncGenerator[AskEvent]) -> AsyncGenerator[AskEvent]:
    """Reads up to the sources, so that what is refused can still have an HTTP status; then streams everything."""
    head: list[AskEvent] = []
    try:
        async for event in events:
            head.append(event)
            if isinstance(event, SourcesEvent | DoneEvent):
                break
    except BaseException:
        await events.aclose()
        raise
    return _chain(head, events)


async def _chain(head: list[AskEvent], rest: AsyncGenerator[AskEvent]) -> AsyncGenerator[AskEvent]:
    async with aclosing(rest):
        for event in head:
            yield event
        async for event in rest:
            yield event
