"""Puts ``[n]`` markers into the answer's text, for APIs that have no citation events."""

from dataclasses import dataclass

from citemesh.client import citation_markers
from citemesh.client.types import AskEvent


@dataclass(frozen=True, slots=True)
class Mark:
    """A marker in the marked text: where it stands, in code points, and the source's number."""

    start: int
    end: int
    number: int


class MarkedText:
    """Puts in the markers as they come, and knows where in the text each number stands."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        self.length = 0
        self._inserter = citation_markers.MarkerInserter()

    def feed(self, event: AskEvent) -> str:
        """Takes an event and returns the text that may go now."""
        return "".join(map(self._put, self._inserter.feed(event)))

    def _put(self, piece: citation_markers.Piece) -> str:
        if isinstance(piece, citation_markers.Marker):
            for number in piece.numbers:
                self._mark(number)
            return str(piece)
        self.length += len(piece)
        return piece

    def _mark(self, number: int) -> None:
        end = self.length + len(f"[{number}]")
        self.marks.append(Mark(self.length, end, number))
        self.length = end
