"""Markers in an answer's text: the numbers of each sentence's citations right behind its last character.

They serve where an answer is shown as one text: in the gateway's APIs that have no citation events, on the command
line, and in the tools of assistants.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from citemesh.client.types import AskEvent, CitationEvent, DeltaEvent, DoneEvent
from citemesh.text.sentences import SentenceSplitter

FENCE = "```"


@dataclass(frozen=True, slots=True)
class Marker:
    """The mark behind a sentence: numbers of its sources, in order, or that nothing supports it."""

    numbers: tuple[int, ...]
    supported: bool

    def __str__(self) -> str:
        """The numbers as they are written."""
        return "".join(f"[{number}]" for number in self.numbers)


Piece = str | Marker


class MarkerInserter:
    """Inserts markers into an answer's text while both arrive.

    Text is passed on at once up to a sentence whose citations are still to come. White space at a sentence's end waits
    too, as the marker goes before it. Code between fences stays as it is: its markers follow behind the next sentence,
    or at the end.
    """

    def __init__(self) -> None:
        self._text = ""
        self._released = 0  # characters that were passed on
        self._cited = 0  # end of the last sentence whose citations came
        self._splitter = SentenceSplitter()
        self._ends: list[int] = []  # of complete sentences whose citations are still to come
        self._numbers: list[int] = []  # that wait for the end of code
        self._unsupported = False

    def feed(self, event: AskEvent) -> list[Piece]:
        """Takes an event and returns what may be passed on now."""
        match event:
            case DeltaEvent():
                return self._add(event.text)
            case CitationEvent():
                return [*self._close(event), *self._flow()]
            case DoneEvent():
                return self.finish()
            case _:
                return []

    def finish(self) -> list[Piece]:
        """Returns what is left when the text is over."""
        rest = self._release(len(self._text))
        line_end: list[Piece] = ["\n"] if self._numbers else []
        return [*rest, *line_end, *self._marker()]

    def _add(self, text: str) -> list[Piece]:
        self._text += text
        ends = [sentence.span.end for sentence in self._splitter.feed(text)]
        # An answer that broke off has sentences that end where none would.
        self._ends += [end for end in ends if self._text[self._cited : end].strip()]
        return self._flow()

    def _flow(self) -> list[Piece]:
        """Passes text on up to the end of the first sentence that waits."""
        return self._release_trimmed(self._ends[0] if self._ends else len(self._text))

    def _close(self, event: CitationEvent) -> list[Piece]:
        end = event.sentence.end
        text = self._release_trimmed(end)
        self._cited = max(self._cited, end)
        self._ends = [at for at in self._ends if at > end]
        self._numbers += [citation.number for citation in event.citations]
        self._unsupported |= not event.supported
        in_code = self._text.count(FENCE, 0, end) % 2 == 1
        if in_code or self._text[event.sentence.start : end].lstrip().startswith(FENCE):
            return text
        return [*text, *self._marker()]

    def _marker(self) -> list[Piece]:
        if not (self._numbers or self._unsupported):
            return []
        marker = Marker(tuple(sorted(set(self._numbers))), not self._unsupported)
        self._numbers, self._unsupported = [], False
        return [marker]

    def _release_trimmed(self, end: int) -> list[Piece]:
        return self._release(self._released + len(self._text[self._released : end].rstrip()))

    def _release(self, end: int) -> list[Piece]:
        text = self._text[self._released : end]
        self._released += len(text)
        return [text] if text else []


def with_markers(text: str, sentences: Sequence[CitationEvent]) -> str:
    """Returns a whole text with its markers."""
    inserter = MarkerInserter()
    events: list[AskEvent] = [DeltaEvent(text), *sentences]
    pieces = [piece for event in events for piece in inserter.feed(event)]
    return "".join(map(str, [*pieces, *inserter.finish()]))
