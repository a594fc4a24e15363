"""Turns as JSON text and back. A change of the form takes a new version; older ones stay readable."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from citemesh.client.types import Citation, CitationEvent, Location, Source, Span
from citemesh.errors import DataLoss
from gateway.threads.turn import Turn

VERSION = 1


def encode(turn: Turn) -> str:
    """A turn as text."""
    fields = asdict(turn) | {"asked_at": turn.asked_at.astimezone(UTC).isoformat(), "version": VERSION}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), default=datetime.isoformat)


def decode(text: str) -> Turn:
    """A turn from its text. Raises DataLoss where it can't be read."""
    try:
        return _turn(json.loads(text))
    except (KeyError, TypeError, ValueError) as error:
        raise DataLoss("a turn of the thread can't be read", "delete the thread") from error


def _turn(fields: dict[str, Any]) -> Turn:
    if fields["version"] != VERSION:
        raise ValueError(f"version {fields['version']}")
    return Turn(
        question=fields["question"],
        standalone=fields["standalone"],
        answer=fields["answer"],
        asked_at=datetime.fromisoformat(fields["asked_at"]),
        sources=tuple(map(_source, fields["sources"])),
        citations=tuple(map(_event, fields["citations"])),
    )


def _source(fields: dict[str, Any]) -> Source:
    published = fields.get("published_at")
    when = datetime.fromisoformat(published) if published else None
    return Source(**(fields | {"location": _location(fields["location"]), "published_at": when}))


def _event(fields: dict[str, Any]) -> CitationEvent:
    citations = tuple(
        Citation(**(citation | {"location": _location(citation["location"])})) for citation in fields["citations"]
    )
    return CitationEvent(Span(**fields["sentence"]), citations, fields["supported"])


def _location(fields: dict[str, Any]) -> Location:
    return Location(Span(**fields["span"]), fields["page"], tuple(fields["headings"]))
