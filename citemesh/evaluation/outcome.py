"""The outcome of one question: its answer, or the error in place of an answer."""

from dataclasses import dataclass, field

from citemesh.client.types import AskEvent, CitationEvent, DeltaEvent, DoneEvent, Source, SourcesEvent


@dataclass(slots=True)
class Outcome:
    """The events of an answer, added up.

    Attributes:
        first_text_s: seconds from the question to the first text; 0 where none came.
        total_s: seconds from the question to the last event.
        error: why the question was not answered; empty where it was.
    """

    text: str = ""
    sources: list[Source] = field(default_factory=list)
    sentences: list[CitationEvent] = field(default_factory=list)
    done: DoneEvent | None = None
    first_text_s: float = 0.0
    total_s: float = 0.0
    error: str = ""

    def take(self, event: AskEvent, at_s: float) -> None:
        """Adds an event that came `at_s` seconds after the question."""
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
