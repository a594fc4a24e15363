"""What an answer has said so far. It alone sends deltas and citations, so that spans and text agree."""

from collections.abc import Awaitable, Callable, Sequence

from citemesh.client.types import AskEvent, Citation, CitationEvent, DeltaEvent, Span

Emit = Callable[[AskEvent], Awaitable[None]]


class Transcript:
    """Sends an answer's events and counts its characters.

    Args:
        began: called when the first text is sent.
    """

    def __init__(self, emit: Emit, began: Callable[[], None] = lambda: None) -> None:
        self.emit = emit
        self._began = began
        self._said: list[str] = []
        self.length = 0
        self.citations: list[CitationEvent] = []

    async def say(self, text: str) -> Span:
        """Sends text and returns where it stands in the answer."""
        start, self.length = self.length, self.length + len(text)
        if text:
            self._said.append(text)
            if not start:
                self._began()
            await self.emit(DeltaEvent(text))
        return Span(start, self.length)

    async def replay(self, event: AskEvent) -> None:
        """Sends an event that an earlier answer sent, and takes note of it."""
        if isinstance(event, DeltaEvent):
            await self.say(event.text)
        elif isinstance(event, CitationEvent):
            await self.cite(event.sentence, event.citations)
        else:
            await self.emit(event)

    async def cite(self, sentence: Span, citations: Sequence[Citation] = ()) -> None:
        """Sends what supports a sentence; without citations it is marked as unsupported."""
        event = CitationEvent(sentence, tuple(citations), bool(citations))
        self.citations.append(event)
        await self.emit(event)

    @property
    def text(self) -> str:
        """All that was said."""
        return "".join(self._said)

    @property
    def cited(self) -> tuple[int, ...]:
        """Numbers of the sources that were cited, ascending."""
        return tuple(sorted({citation.number for event in self.citations for citation in event.citations}))
