"""Results of queries that were embedded before, and of those that are being embedded: equal ones are embedded once."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

R = TypeVar("R")
CountQueries = Callable[[int, bool], None]
"""Takes a number of queries, and whether their results were stored or being made."""

_LONGEST = 2048
"""Characters of a query that is stored: longer ones are hardly asked twice."""


@dataclass(slots=True)
class _Flight(Generic[R]):
    """A result that is being made, and how many wait for it."""

    task: "asyncio.Task[R]"
    waiting: int = 0


class QueryCache(Generic[R]):
    """Least recently used entries go first; used from one event loop.

    Args:
        make: makes the results of several queries; cancelled when nobody waits for them any more.
        capacity: most entries; 0 stores none, and equal queries at the same time are still made once.
        count: told of every query that is looked up.
    """

    def __init__(
        self,
        make: Callable[[Sequence[str]], Awaitable[Sequence[R]]],
        capacity: int,
        count: CountQueries = lambda number, cached: None,
    ) -> None:
        self._make = make
        self._capacity = capacity
        self._count = count
        self._results: OrderedDict[str, R] = OrderedDict()
        self._flights: dict[str, _Flight[R]] = {}

    def __contains__(self, text: str) -> bool:
        """Whether a query costs nothing: its result is stored, or being made."""
        return text in self._results or text in self._flights

    def __len__(self) -> int:
        return len(self._results)

    async def get(self, text: str) -> R:
        """The result of a query. Raises what making it raises."""
        result = self._results.get(text)
        self._count(1, text in self)
        if result is not None:
            self._results.move_to_end(text)
            return result
        return await self._join(text, self._flights.get(text) or self._depart(text))

    async def get_many(self, texts: Sequence[str]) -> list[R]:
        """As `get` for each. Results that are neither stored nor being made are made together, for this caller."""
        missing = [text for text in dict.fromkeys(texts) if text not in self]
        present = [text for text in dict.fromkeys(texts) if text in self]
        self._count(len(missing), False)
        made_now, reused = await asyncio.gather(self._make(missing), asyncio.gather(*map(self.get, present)))
        results = dict(zip(missing, made_now, strict=True))
        for text, result in results.items():
            self._store(text, result)
        results.update(zip(present, reused, strict=True))
        return [results[text] for text in texts]

    async def _join(self, text: str, flight: _Flight[R]) -> R:
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                flight.task.cancel()
                self._forget(text, flight.task)

    def _depart(self, text: str) -> _Flight[R]:
        async def make() -> R:
            return (await self._make([text]))[0]

        flight = self._flights[text] = _Flight[R](asyncio.create_task(make()))
        flight.task.add_done_callback(partial(self._land, text))
        return flight

    def _land(self, text: str, task: "asyncio.Task[R]") -> None:
        self._forget(text, task)
        if not task.cancelled() and task.exception() is None:
            self._store(text, task.result())

    def _store(self, text: str, result: R) -> None:
        if len(text) > _LONGEST or not self._capacity:
            return
        self._results[text] = result
        while len(self._results) > self._capacity:
            self._results.popitem(last=False)

    def _forget(self, text: str, task: "asyncio.Task[R]") -> None:
        if (flight := self._flights.get(text)) is not None and flight.task is task:
            del self._flights[text]
