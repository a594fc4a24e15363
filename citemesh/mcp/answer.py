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
    """The events of an answer, added up."""

    text: str = ""
    sources: tuple[Source, ...] = ()
    sentences: list[CitationEvent] = field(default_factory=list)
    related: tuple[str, ...] = ()
    done: DoneEvent | None = None

    def take(self, event: AskEvent) -> str:
        """Adds an event. Returns a progress note for the assistant, "" where there is nothing to say."""
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

    def to_tool_answer(self, done: DoneEvent) -> ToolAnswer:
        """Returns the whole answer, with the sources that it cites."""
        spans = [citation.sentence for citation in self.sentences if not citation.supported]
        unsupported = [self.text[span.start : span.end].strip() for span in spans]
        return ToolAnswer(
            with_markers(self.text, self.sentences),
            [passage(source) for source in self.sources if source.number in done.cited],
            [text for text in unsupported if text],
            list(self.related),
            done.notice,
            done.mode,
            done.thread_id,
        )
