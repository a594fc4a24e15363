"""Weaves ``[n]`` markers into the answer's text, for ways in that have no citation events."""

from dataclasses import dataclass

from citemesh.client.types import AskEvent, CitationEvent, DeltaEvent, DoneEvent
from gateway.query.sentences import Splitter


@dataclass(frozen=True, slots=True)
class Mark:
    """A marker in the woven text: where it stands, in code points, and the source's number."""

    start: int
    end: int
    number: int


class Weaver:
    """Puts each sentence's markers right behind its last character.

    Text flows at once but for what stands behind a sentence whose citations are not known yet.
    """

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        self.length = 0
        self._held = ""
        self._released = 0  # characters of the answer's own text that were let go
        self._splitter = Splitter()
        self._waiting = 0  # complete sentences whose citations are still to come
        self._ends: list[int] = []

    def feed(self, event: AskEvent) -> str:
        """Takes an event and returns the text that may go now."""
        match event:
            case DeltaEvent():
                self._held += event.text
                self._ends += [sentence.span.end for sentence in self._splitter.feed(event.text)]
                return self._flow()
            case CitationEvent():
                return self._close_sentence(event) + self._flow()
            case DoneEvent():
                return self._release(len(self._held))
            case _:
                return ""

    def _flow(self) -> str:
        """Lets text go up to the end of the first sentence that waits; its closing white space stays."""
        limit = self._ends[0] - self._released if self._ends else len(self._held)
        return self._release(max(0, len(self._held[:limit].rstrip())))

    def _close_sentence(self, event: CitationEvent) -> str:
        end = event.sentence.end - self._released
        text = self._release(max(0, len(self._held[:end].rstrip())))
        self._ends = [at for at in self._ends if at > event.sentence.end]
        return text + self._mark(sorted({citation.number for citation in event.citations}))

    def _mark(self, numbers: list[int]) -> str:
        text = ""
        for number in numbers:
            marker = f"[{number}]"
            self.marks.append(Mark(self.length, self.length + len(marker), number))
            self.length += len(marker)
            text += marker
        return text

    def _release(self, count: int) -> str:
        text, self._held = self._held[:count], self._held[count:]
        self._released += count
        self.length += count
        return text
