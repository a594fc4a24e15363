"""Searches for many vectors, shared over threads a slice at a time.

FAISS would share them by OpenMP, whose threads wait for the slowest of them with a core each kept busy: where the
machine has other work, two took longer than one (docs/performance.md). Here a thread that is held up holds up its own
slice alone, and the others take what is left.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np

from services.retrieval.engines.durable.index.bitmap import Numbers
from services.retrieval.types.chunk import Vector

Nearest = tuple[Vector, Numbers]
SLICE = 16
"""Vectors of a slice: some milliseconds of work, so that handing it over costs little beside it."""


class SearchThreads:
    """Threads that help a search. May be used by several searches at once, and again after it was closed.

    Args:
        threads: over which one search is shared, the calling one among them.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._guard = threading.Lock()
        self._helpers: ThreadPoolExecutor | None = None

    def search(self, work: Callable[[Vector], Nearest], rows: Vector) -> Nearest:
        """Returns what the work finds for each of the rows, of shape (n, dimension). Raises what the work raises."""
        faiss.omp_set_num_threads(1)  # of this thread alone
        if self._threads == 1 or len(rows) <= SLICE:
            return work(rows)
        left = deque(range(0, len(rows), SLICE))
        slices: dict[int, Nearest] = {}

        def take() -> None:
            while left:
                try:
                    start = left.popleft()
                except IndexError:  # another was faster
                    return
                slices[start] = work(rows[start : start + SLICE])

        helping = [self._pool().submit(take) for _ in range(min(self._threads, len(left)) - 1)]
        try:
            take()
        finally:
            left.clear()
            for helper in helping:
                if not helper.cancel():  # a helper that has not begun has nothing left to do
                    helper.result()
        scores, numbers = zip(*(slices[start] for start in sorted(slices)), strict=True)
        return np.concatenate(scores), np.concatenate(numbers)

    def close(self) -> None:
        """Ends the threads."""
        with self._guard:
            helpers, self._helpers = self._helpers, None
        if helpers is not None:
            helpers.shutdown()

    def _pool(self) -> ThreadPoolExecutor:
        with self._guard:
            if self._helpers is None:
                self._helpers = ThreadPoolExecutor(self._threads - 1, "index-searcher", _alone)
            return self._helpers


ALONE = SearchThreads(1)


def _alone() -> None:
    faiss.omp_set_num_threads(1)
