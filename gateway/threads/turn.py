"""Threads and their turns, as plain values."""

from dataclasses import dataclass
from datetime import datetime

from citemesh.client.types import CitationEvent, Source


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and its answer.

    Attributes:
        question: as it was asked.
        standalone: as it was searched for, without need of what stood before.
        answer: text without citation markers.
        sources: passages that were cited, by their numbers in the answer.
    """

    question: str
    standalone: str
    answer: str
    asked_at: datetime
    sources: tuple[Source, ...] = ()
    citations: tuple[CitationEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation; its title is its first question."""

    thread_id: str
    title: str
    updated_at: datetime
    turns: int


@dataclass(frozen=True, slots=True)
class Page:
    """Threads, newest first, and what asks for the next ones; empty at the end."""

    threads: tuple[Thread, ...]
    next_token: str
