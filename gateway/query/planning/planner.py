"""What a planner is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gateway.query.context import Scored


@dataclass(frozen=True, slots=True)
class Finding:
    """What one search found, best first."""

    query: str
    ranked: tuple[Scored, ...]


class Planner(Protocol):
    """Decides after each search whether another one is needed, and which."""

    async def next(self, question: str, findings: Sequence[Finding]) -> str | None:
        """The next query, or None where enough was found; the first search is for the question itself."""
        ...


class SingleShot:
    """Never searches twice."""

    async def next(self, question: str, findings: Sequence[Finding]) -> str | None:
        """No query."""
        return None
