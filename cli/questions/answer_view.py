"""An answer's events on a terminal or in a pipe: text as it comes, numbers behind each sentence, sources below."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Protocol

from rich.console import Console
from rich.text import Text

from citemesh.client.citation_markers import Marker, MarkerInserter, Piece
from citemesh.client.types import (
    AskEvent,
    Citation,
    CitationEvent,
    DeltaEvent,
    DoneEvent,
    FollowUpsEvent,
    PlanEvent,
    SearchEvent,
    Source,
    SourcesEvent,
)
from citemesh.text.characters import takes_two_columns
from cli.terminal.terminal import printable
from cli.terminal.text_flow import TextFlow

QUOTE_CHARACTERS = 280
QUOTES_A_SOURCE = 3
_UNSUPPORTED = "[unsupported]"
_FINISHES = {
    "length": "The answer was cut at its longest; --max-tokens allows more.",
    "interrupted": "The language model broke off; what follows the break is taken from the sources.",
    "no_sources": "No source fits. `citemesh ingest PATH` adds documents.",
}
_NAMES: dict[type[AskEvent], str] = {
    PlanEvent: "plan",
    SearchEvent: "search",
    SourcesEvent: "sources",
    DeltaEvent: "delta",
    CitationEvent: "citation",
    FollowUpsEvent: "follow_ups",
    DoneEvent: "done",
}


class AnswerWriter(Protocol):
    """What takes an answer's events."""

    def write(self, event: AskEvent) -> None:
        """Takes the next event."""

    def close(self) -> None:
        """Nothing more comes, because the answer is whole or has failed."""


class JsonWriter:
    """One JSON object a line: the event's name under "event", then its fields."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write

    def write(self, event: AskEvent) -> None:
        """Writes the event's line."""
        self._write(json.dumps(as_json(event), ensure_ascii=False, default=datetime.isoformat) + "\n")

    def close(self) -> None:
        """Nothing is open."""


def as_json(event: AskEvent) -> dict[str, Any]:
    """An event as plain JSON values."""
    return {"event": _NAMES[type(event)]} | asdict(event)


class TextWriter:
    """For people. Text is only ever added, so that a long answer scrolls and a pipe gets each character once."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._flow = TextFlow(console)
        self._inserter = MarkerInserter()
        self._last = ""
        self._ended = False
        self._sources: dict[int, Source] = {}
        self._quotes: dict[int, list[Citation]] = {}
        self._follow_ups: tuple[str, ...] = ()
        self._wait = console.status("searching")
        if console.is_terminal:
            self._wait.start()

    def close(self) -> None:
        """Takes the spinner away, and end a line that was broken off."""
        self._wait.stop()
        if self._last and not self._ended:
            self._flow.end()
            self._console.print()

    def write(self, event: AskEvent) -> None:
        """Shows the event."""
        match event:
            case PlanEvent() if len(event.hops) > 1:
                self._wait.update(Text(printable("searching for " + "; ".join(event.hops))))
            case SourcesEvent():
                self._sources |= {source.number: source for source in reversed(event.sources)}
                self._wait.update(f"reading {len(self._sources)} sources")
            case DeltaEvent():
                self._wait.stop()
                self._put(self._inserter.feed(event))
            case CitationEvent():
                self._cite(event)
            case FollowUpsEvent():
                self._follow_ups = event.questions
            case DoneEvent():
                self._finish(event)

    def _cite(self, event: CitationEvent) -> None:
        for citation in event.citations:
            self._quotes.setdefault(citation.number, []).append(citation)
        self._put(self._inserter.feed(event))

    def _put(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, Marker):
                self._mark(piece)
            else:
                self._flow.text(printable(piece))
                self._last = piece[-1]

    def _mark(self, marker: Marker) -> None:
        # Chinese and Japanese put no space before a mark, and no line begins with one.
        self._flow.text("" if takes_two_columns(self._last) or self._last == "\n" else " ")
        cited = bool(marker.numbers)
        self._flow.mark(str(marker) if cited else _UNSUPPORTED, "bold cyan" if cited else "bold yellow")

    def _finish(self, event: DoneEvent) -> None:
        self._wait.stop()
        self._ended = True
        self._put(_without_space_at_the_end(self._inserter.feed(event)))
        if self._last:
            self._flow.end()
            self._console.print("\n")
        for note in filter(None, (_FINISHES.get(event.finish, ""), event.notice)):
            self._console.print(Text(printable(note), style="yellow"))
        self._list_sources(event.cited)
        self._list_follow_ups()
        self._console.print(Text(_footer(event, len(self._sources)), style="dim"))

    def _list_sources(self, cited: Sequence[int]) -> None:
        cited_sources = [self._sources[number] for number in cited if number in self._sources]
        sources = cited_sources or list(self._sources.values())
        if sources:
            self._console.print(
                Text("Sources" if cited_sources else "Sources that were read; none is cited", style="bold")
            )
        for source in sources:
            self._console.print(source_line(source))
            for quote in _quotes(self._quotes.get(source.number, ())):
                self._console.print(quote)
        if sources:
            self._console.print()

    def _list_follow_ups(self) -> None:
        if not self._follow_ups:
            return
        self._console.print(Text("Related questions", style="bold"))
        for question in self._follow_ups:
            self._console.print(f"  {_one_line(question)}")
        self._console.print()


def _without_space_at_the_end(pieces: Sequence[Piece]) -> list[Piece]:
    if not pieces or isinstance(pieces[-1], Marker):
        return list(pieces)
    text = pieces[-1].rstrip()
    return [*pieces[:-1], text] if text else list(pieces[:-1])


def source_line(source: Source) -> Text:
    """Number, title, address, page and headings of a source."""
    title = source.title or source.uri or source.document_id
    places = [source.uri] if source.uri and source.uri != title else []
    places += [f"page {source.location.page}"] if source.location.page else []
    places += [" › ".join(source.location.headings)] if source.location.headings else []
    place = f"  {_one_line(', '.join(places))}" if places else ""
    return Text.assemble((f"[{source.number}] ", "bold cyan"), (_one_line(title), "bold"), (place, "dim"))


def quote_line(text: str, page: int = 0) -> Text:
    """A quotation, on one line and not too long."""
    line = _one_line(text)
    cut_line = line if len(line) <= QUOTE_CHARACTERS else line[: QUOTE_CHARACTERS - 1].rstrip() + "…"
    return Text.assemble("    ", (f"“{cut_line}”", "italic"), (f"  page {page}" if page else "", "dim"))


def _quotes(citations: Sequence[Citation]) -> list[Text]:
    """The distinct quotations of one source, in the answer's order."""
    places = {(c.location.span.start, c.location.span.end): c for c in citations}
    lines = [quote_line(c.quote, c.location.page) for c in list(places.values())[:QUOTES_A_SOURCE]]
    more = len(places) - len(lines)
    return [*lines, Text(f"    and {more} more", style="dim")] if more else lines


def _footer(event: DoneEvent, sources: int) -> str:
    origin = {"generated": f"written by {event.model or 'the language model'}", "extractive": "extractive"}
    parts = [origin.get(event.mode, event.mode), f"{len(event.cited)} of {sources} sources cited"]
    if event.usage.completion_tokens:
        parts.append(f"{event.usage.completion_tokens} tokens")
    if "first_token" in event.timings:
        parts.append(f"first token after {event.timings['first_token'] / 1000:.1f} s")
    return " · ".join(printable(part) for part in parts)


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())
