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

    Text flows at once but for what stands behind a sentence whose citations are not known yet. Code between fences
    stays as it is: its markers follow behind the next sentence, or at the end.
    """

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        self.length = 0
        self._text = ""  # the answer's own
        self._released = 0  # characters of it that were let go
        self._splitter = Splitter()
        self._ends: list[int] = []  # of complete sentences whose citations are still to come
        self._kept: list[int] = []  # numbers that wait for the end of code

    def feed(self, event: AskEvent) -> str:
        """Takes an event and returns the text that may go now."""
        match event:
            case DeltaEvent():
                self._text += event.text
                self._ends += [sentence.span.end for sentence in self._splitter.feed(event.text)]
                return self._flow()
            case CitationEvent():
                return self._close_sentence(event) + self._flow()
            case DoneEvent():
                return self._release(len(self._text)) + self._last()
            case _:
                return ""

    def _flow(self) -> str:
        """Lets text go up to the end of the first sentence that waits; its closing white space stays."""
        return self._release_trimmed(self._ends[0] if self._ends else len(self._text))

    def _close_sentence(self, event: CitationEvent) -> str:
        end = event.sentence.end
        text = self._release_trimmed(end)
        self._ends = [at for at in self._ends if at > end]
        self._kept += [citation.number for citation in event.citations]
        in_code = self._text.count("```", 0, end) % 2 == 1
        if in_code or self._text[event.sentence.start : end].lstrip().startswith("```"):
            return text
        return text + self._mark()

    def _last(self) -> str:
        if not self._kept:
            return ""
        self.length += 1
        return "\n" + self._mark()

    def _mark(self) -> str:
        text = ""
        for number in sorted(set(self._kept)):
            marker = f"[{number}]"
            self.marks.append(Mark(self.length, self.length + len(marker), number))
            self.length += len(marker)
            text += marker
        self._kept = []
        return text

    def _release_trimmed(self, end: int) -> str:
        return self._release(self._released + len(self._text[self._released : end].rstrip()))

    def _release(self, end: int) -> str:
        text = self._text[self._released : end]
        self._released += len(text)
        self.length += len(text)
        return text
