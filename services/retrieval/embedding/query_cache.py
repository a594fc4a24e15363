"""What was made of queries that were asked before, and of those that are asked now: of equal ones it is made once."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from services.retrieval import metrics

Made = TypeVar("Made")
_LONGEST = 2048
"""Characters of a query that is kept: longer ones are hardly asked twice."""


@dataclass(slots=True)
class _Flight(Generic[Made]):
    """What is in the making, and how many wait for it."""

    task: "asyncio.Task[Made]"
    waiting: int = 0


class QueryCache(Generic[Made]):
    """Least recently used entries go first; used from one event loop.

    Args:
        make: embeds several queries, say; cancelled when nobody waits for them any more.
        capacity: most entries; 0 keeps none, and equal queries at the same time are still made once.
    """

    def __init__(self, make: Callable[[Sequence[str]], Awaitable[Sequence[Made]]], capacity: int) -> None:
        self._make = make
        self._capacity = capacity
        self._kept: OrderedDict[str, Made] = OrderedDict()
        self._flights: dict[str, _Flight[Made]] = {}

    def __contains__(self, text: str) -> bool:
        """Whether a query costs nothing: it is kept, or being made."""
        return text in self._kept or text in self._flights

    def __len__(self) -> int:
        return len(self._kept)

    async def get(self, text: str) -> Made:
        """What is made of it. Raises what making it raises."""
        found = self._kept.get(text)
        metrics.queries.add(1, {"citemesh.embedding.cached": text in self})
        if found is not None:
            self._kept.move_to_end(text)
            return found
        return await self._join(text, self._flights.get(text) or self._depart(text))

    async def get_many(self, texts: Sequence[str]) -> list[Made]:
        """As `get` for each of them. What is neither kept nor in the making is made in one go, for this caller."""
        missing = [text for text in dict.fromkeys(texts) if text not in self]
        known = [text for text in dict.fromkeys(texts) if text in self]
        metrics.queries.add(len(missing), {"citemesh.embedding.cached": False})
        made, others = await asyncio.gather(self._make(missing), asyncio.gather(*map(self.get, known)))
        found = dict(zip(missing, made, strict=True))
        for text, one in found.items():
            self._keep(text, one)
        found.update(zip(known, others, strict=True))
        return [found[text] for text in texts]

    async def _join(self, text: str, flight: _Flight[Made]) -> Made:
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                flight.task.cancel()
                self._forget(text, flight.task)

    def _depart(self, text: str) -> _Flight[Made]:
        async def made() -> Made:
            return (await self._make([text]))[0]

        flight = self._flights[text] = _Flight[Made](asyncio.create_task(made()))
        flight.task.add_done_callback(partial(self._landed, text))
        return flight

    def _landed(self, text: str, task: "asyncio.Task[Made]") -> None:
        self._forget(text, task)
        if not task.cancelled() and task.exception() is None:
            self._keep(text, task.result())

    def _keep(self, text: str, made: Made) -> None:
        if len(text) > _LONGEST or not self._capacity:
            return
        self._kept[text] = made
        while len(self._kept) > self._capacity:
            self._kept.popitem(last=False)

    def _forget(self, text: str, task: "asyncio.Task[Made]") -> None:
        if (flight := self._flights.get(text)) is not None and flight.task is task:
            del self._flights[text]
