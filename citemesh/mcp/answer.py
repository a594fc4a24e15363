"""A whole answer from its events, with a progress note as it comes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

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
from citemesh.mcp.shapes import Answered, passage

FENCE = "```"


@dataclass(slots=True)
class Gathered:
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
                return f"Search {event.hop} found {event.found} passages"
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

    def answered(self, done: DoneEvent) -> Answered:
        """The answer, with the sources that it cites."""
        spans = [one.sentence for one in self.sentences if not one.supported]
        unsupported = [self.text[span.start : span.end].strip() for span in spans]
        return Answered(
            marked(self.text, self.sentences),
            [passage(one) for one in self.sources if one.number in done.cited],
            [text for text in unsupported if text],
            list(self.related),
            done.notice,
            done.mode,
            done.thread_id,
        )


def marked(text: str, sentences: Sequence[CitationEvent]) -> str:
    """The text with [n] behind each sentence's last character; code between fences stays as it is."""
    parts: list[str] = []
    kept: list[int] = []
    at = 0
    for one in sentences:
        end = len(text[: one.sentence.end].rstrip())
        kept += [citation.number for citation in one.citations]
        parts.append(text[at : max(at, end)])
        at = max(at, end)
        if text.count(FENCE, 0, at) % 2 == 0 and not text[one.sentence.start : at].lstrip().startswith(FENCE):
            parts.append(_markers(kept))
            kept = []
    last = f"\n{_markers(kept)}" if kept else ""
    return "".join(parts) + text[at:] + last


def _markers(numbers: Sequence[int]) -> str:
    return "".join(f"[{number}]" for number in sorted(set(numbers)))
