"""What came of one question."""

from dataclasses import dataclass, field

from citemesh.client.types import AskEvent, CitationEvent, DeltaEvent, DoneEvent, Source, SourcesEvent


@dataclass(slots=True)
class Outcome:
    """An answer's events, added up. Times are seconds from the question; error is empty where it was answered."""

    text: str = ""
    sources: list[Source] = field(default_factory=list)
    sentences: list[CitationEvent] = field(default_factory=list)
    done: DoneEvent | None = None
    first_text_s: float = 0.0
    total_s: float = 0.0
    error: str = ""

    def take(self, event: AskEvent, at_s: float) -> None:
        """Adds an event."""
        match event:
            case SourcesEvent():
                self.sources += event.sources
            case DeltaEvent():
                self.first_text_s = self.first_text_s or at_s
                self.text += event.text
            case CitationEvent():
                self.sentences.append(event)
            case DoneEvent():
                self.done = event
            case _:
                pass
        self.total_s = at_s
