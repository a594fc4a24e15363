"""A whole answer from its events, with a progress note as it comes."""

from dataclasses import dataclass, field

from citemesh.client.citation_markers import with_markers
from citemesh.client.types import (
    AskEvent,
    CitationEvent,
    DeltaEvent,
    DoneEvent,
    FollowUpsEvent,
    PlanEvent,
    SearchEvent,
    Source,
    SourcesEvent,
)
from citemesh.mcp.shapes import ToolAnswer, passage


@dataclass(slots=True)
class CollectedAnswer:
    """What an answer's events add up to."""

    text: str = ""
    sources: tuple[Source, ...] = ()
    sentences: list[CitationEvent] = field(default_factory=list)
    related: tuple[str, ...] = ()
    done: DoneEvent | None = None

    def take(self, event: AskEvent) -> str:
        """Adds an event; returns what to tell of it, "" for nothing."""
        match event:
            case PlanEvent():
                return f"Searching for: {'; '.join(event.hops)}"
            case SearchEvent():
                return f"Search {event.hop} found {event.passages} passages"
            case SourcesEvent():
                self.sources += event.sources
                return f"Reading {len(event.sources)} passages"
            case DeltaEvent():
                self.text += event.text
            case CitationEvent():
                self.sentences.append(event)
                return self.text[event.sentence.start : event.sentence.end].strip()
            case FollowUpsEvent():
                self.related = event.questions
            case DoneEvent():
                self.done = event
        return ""

    def answered(self, done: DoneEvent) -> ToolAnswer:
        """The answer, with the sources that it cites."""
        spans = [sentence_event.sentence for sentence_event in self.sentences if not sentence_event.supported]
        unsupported = [self.text[span.start : span.end].strip() for span in spans]
        return ToolAnswer(
            with_markers(self.text, self.sentences),
            [passage(sentence_event) for sentence_event in self.sources if sentence_event.number in done.cited],
            [text for text in unsupported if text],
            list(self.related),
            done.notice,
            done.mode,
            done.thread_id,
        )
