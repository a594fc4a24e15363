"""What a planner is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gateway.query.pack.packing import Scored


@dataclass(frozen=True, slots=True)
class Finding:
    """What one search found, best first, and the hop, from 1, that it was a search of."""

    query: str
    ranked: tuple[Scored, ...]
    hop: int = 1


class Planner(Protocol):
    """Decides after each hop whether another one is needed, and what is searched for in it, side by side.

    lexical: whether its queries are for words alone; then the order of the search stands, and no reranker is asked.
    """

    @property
    def lexical(self) -> bool:
        """See above."""
        ...

    async def next(self, question: str, findings: Sequence[Finding]) -> tuple[str, ...]:
        """The queries of the next hop, best first, or none where enough was found.

        The first hop is a search for the question itself; ``findings`` has one of each search so far, in their order.
        """
        ...


class SingleShot:
    """Never searches on."""

    lexical = False

    async def next(self, question: str, findings: Sequence[Finding]) -> tuple[str, ...]:
        """No query."""
        return ()
