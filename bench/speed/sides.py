"""A round of searches: FAISS alone, and the service over a socket, and what they took."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import faiss
import numpy as np

from bench.common import cpu
from bench.speed.vectors import Vectors
from citemesh.client import Mesh
from citemesh.client.types import Search
from citemesh.cpu import usable_cores

K = 10
BATCH = 64
CALLERS = 32
ONES, BATCHES = 24, 2
"""Single searches, and batches, of a round."""
WAYS = ("one", "batch", "one of references", "batch of references", "callers")
RAW = "FAISS alone"
_faiss: Any = faiss  # its stub lacks what only C++ declares


@dataclass(slots=True)
class Worked:
    """Processor seconds of searches: in the service, and in the bench's own process, which calls it."""

    searches: int = 0
    service_name: float = 0.0
    caller: float = 0.0

    def each(self) -> tuple[float, float]:
        """Seconds of one search."""
        return self.service_name / max(1, self.searches), self.caller / max(1, self.searches)


@dataclass(slots=True)
class Sized:
    """What one size took. Seconds are per search, round by round.

    Ways of FAISS: "one", "batch", "one thread" (a batch by one); of the service: "one" and "batch", the same with
    " of references", and "callers". worked: processor seconds of a search by way, in the service and in its caller.
    """

    count: int
    index: str = ""
    put_s: float = 0.0
    index_s: float = 0.0
    start_s: float = 0.0
    memory: int = 0
    disk: int = 0
    recall: float = 0.0
    raw: dict[str, list[float]] = field(default_factory=lambda: {"one": [], "batch": [], "one thread": []})
    service: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})
    raw_one: list[float] = field(default_factory=list)
    service_one: list[float] = field(default_factory=list)
    worked: dict[str, Worked] = field(default_factory=lambda: {way: Worked() for way in (*WAYS, RAW)})


@dataclass(slots=True)
class _Next:
    """Queries one after the other, by number, around and around."""

    count: int
    at: int = 0

    def take(self, many: int) -> list[int]:
        """The numbers of the next ones."""
        taken = [(self.at + step) % self.count for step in range(many)]
        self.at += many
        return taken


class Sides:
    """FAISS alone and the service, a round at a time."""

    def __init__(self, sized: Sized, mesh: Mesh, pid: int, index: Any, asked: Vectors) -> None:
        self._sized = sized
        self._mesh = mesh
        self._pid = pid
        self._index = index
        self._asked = asked
        self._numbers = _Next(len(asked))

    async def raw(self) -> None:
        """FAISS alone."""
        taken = self._sized.raw
        _faiss.omp_set_num_threads(1)  # a single search is the work of one; others would only be waited for
        spent = [self._raw(1) for _ in range(ONES)]
        self._sized.raw_one += spent
        taken["one"].append(_middle(spent))
        started, worked = time.process_time(), self._sized.worked[RAW]
        taken["one thread"].append(sum(self._raw(BATCH) for _ in range(BATCHES)) / BATCHES)
        worked.caller += time.process_time() - started
        worked.searches += BATCHES * BATCH
        _faiss.omp_set_num_threads(usable_cores())
        taken["batch"].append(sum(self._raw(BATCH) for _ in range(BATCHES)) / BATCHES)

    async def service(self) -> None:
        """The service, in both views."""
        for what, search in (("", search_of), (" of references", reference_of)):
            async with self._work(f"one{what}", ONES):
                spent = [await _timed(self._mesh.retrieval.find(search(at))) for at in self._numbers.take(ONES)]
            self._sized.service[f"one{what}"].append(_middle(spent))
            self._sized.service_one += spent if search is search_of else []
            async with self._work(f"batch{what}", BATCHES * BATCH):
                total = 0.0
                for _ in range(BATCHES):
                    searches = [search(at) for at in self._numbers.take(BATCH)]
                    total += await _timed(self._mesh.retrieval.find_many(searches))
            self._sized.service[f"batch{what}"].append(total / (BATCHES * BATCH))
        async with self._work("callers", 4 * CALLERS):
            self._sized.service["callers"].append(await _callers(self._mesh, self._numbers.take(4 * CALLERS)))

    @asynccontextmanager
    async def _work(self, way: str, searches: int) -> AsyncIterator[None]:
        service_name, own = cpu.cpu_s([self._pid]), time.process_time()
        yield
        worked = self._sized.worked[way]
        worked.service_name += cpu.cpu_s([self._pid]) - service_name
        worked.caller += time.process_time() - own
        worked.searches += searches

    def _raw(self, many: int) -> float:
        """Seconds a search."""
        rows = self._asked[self._numbers.take(many)]
        started = time.perf_counter()
        self._index.search(rows, K)
        return (time.perf_counter() - started) / many


async def _callers(mesh: Mesh, numbers: Sequence[int]) -> float:
    """Seconds a search where many callers ask at once."""
    waiting = iter(numbers)

    async def caller() -> None:
        for number in waiting:
            await mesh.retrieval.find(search_of(number))

    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return (time.perf_counter() - started) / len(numbers)


def search_of(number: int) -> Search:
    """The search for a query by its number, for whole passages."""
    return Search(str(number), top_k=K, mode="dense")


def reference_of(number: int) -> Search:
    return Search(str(number), top_k=K, mode="dense", view="reference", keep_duplicates=True)


async def _timed(call: Awaitable[object]) -> float:
    started = time.perf_counter()
    await call
    return time.perf_counter() - started


def _middle(values: Sequence[float]) -> float:
    return float(np.median(values))
