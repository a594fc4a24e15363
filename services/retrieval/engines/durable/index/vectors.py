"""Nearest neighbours by cosine over the numbers of chunks.

A search reads one large segment and, beside a graph or lists, a small exact one that takes new vectors, so that a
change is quick whatever the kind. A removed vector is not answered any more and leaves its segment at the next
rebuild. Searches run beside each other and outside the interpreter's lock; a change holds them for microseconds.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from services.retrieval.engines.durable.index.bitmap import Bitmap, Numbers
from services.retrieval.engines.durable.index.kinds import IndexChoice, training_for
from services.retrieval.engines.durable.index.rwlock import ReadWriteLock
from services.retrieval.engines.durable.index.search_threads import ALONE, Nearest, SearchThreads
from services.retrieval.engines.durable.index.segment import Segment
from services.retrieval.types.chunk import Vector

ReadVectors = Callable[[Numbers], Iterator[tuple[Numbers, Vector]]]
"""Reads vectors by their numbers from the store, in portions; deleted ones are missing."""

_FEW = 64
_SLICE = 8


@dataclass(slots=True)
class _Parts:
    """The segments of one moment: the large one, the one that takes what is new, and the one that moves over."""

    main: Segment
    fresh: Segment
    moving: Segment | None = None
    moved: int = 0

    def all(self) -> list[Segment]:
        """Those that hold anything."""
        return [part for part in (self.main, self.moving, self.fresh) if part is not None and len(part)]


class VectorIndex:
    """Changes come from one thread, rebuilding and moving from one other, searches from any."""

    def __init__(self, dimension: int, choice: IndexChoice | None = None, main: Segment | None = None) -> None:
        self.dimension = dimension
        self._choice = choice or IndexChoice()
        self._parts = _Parts(main or self._flat(), self._flat())
        self._living = Bitmap(self._parts.main.numbers())
        self._lock = ReadWriteLock()
        self._changing = threading.Lock()
        self._journal: list[Numbers] | None = None

    def __len__(self) -> int:
        return len(self._living)

    @property
    def kind(self) -> str:
        """Name of the large segment's kind."""
        return self._parts.main.name

    @property
    def lossy(self) -> bool:
        """Whether scores are estimates."""
        return self._parts.main.lossy

    @property
    def dead(self) -> int:
        """Removed vectors that still take memory."""
        parts = self._parts
        return sum(map(len, parts.all())) - parts.moved - len(self._living)

    @property
    def unmoved(self) -> int:
        """New vectors that are not in the large segment yet."""
        parts = self._parts
        return len(parts.fresh) + (len(parts.moving) - parts.moved if parts.moving else 0)

    def change(self, numbers: Numbers, vectors: Vector, removed: Iterable[int] = ()) -> None:
        """Adds vectors of shape (n, dimension) under new numbers and removes others, in one step for searches."""
        removed_numbers = np.fromiter(removed, dtype=np.int64)
        with self._changing:
            with self._lock.writing():
                parts = self._parts
                (parts.main if parts.main.name == "flat" else parts.fresh).add(numbers, vectors)
                self._living.add(numbers)
                self._living.remove(removed_numbers)
            if self._journal is not None and len(numbers):
                self._journal.append(numbers)

    def search(self, vector: Vector, limit: int, allowed: Numbers | None = None) -> dict[int, float]:
        """Cosine by number of the nearest, at most `limit`, among `allowed` where given."""
        return self.search_many(vector.reshape(1, -1), limit, allowed)[0]

    def search_many(
        self, vectors: Vector, limit: int, allowed: Numbers | None = None, threads: SearchThreads = ALONE
    ) -> list[dict[int, float]]:
        """As `search` for each of several vectors, of shape (n, dimension), in one pass that threads may share."""
        rows = np.ascontiguousarray(vectors, dtype=np.float32)
        shared = ALONE if self._choice.gpu else threads
        with self._lock.reading():
            living = self._allowed(allowed)
            parts = self._parts.all() if living is None or len(living) else []
            nearest = [_nearest(part, rows, limit, living, shared) for part in parts]
        if len(nearest) == 1:
            return [_scores(*row) for row in zip(*nearest[0], strict=True)]
        return [_merged([(scores[at], numbers[at]) for scores, numbers in nearest], limit) for at in range(len(rows))]

    def numbers(self) -> Numbers:
        """Living numbers that the segments hold, ascending."""
        with self._lock.reading():
            by_part = [part.numbers() for part in self._parts.all()]
            numbers = np.unique(np.concatenate(by_part)) if by_part else np.empty(0, np.int64)
            return numbers[self._living.holds(numbers)]

    def move(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Moves new vectors into the large segment, a few at a time so that no search waits for long."""
        if self._parts.main.name == "flat":
            return
        if self._parts.moving is None:
            with self._changing, self._lock.writing():
                self._parts = _Parts(self._parts.main, self._flat(), self._parts.fresh)
        parts = self._parts
        moving = parts.moving
        if moving is None:
            return
        numbers = moving.numbers()
        while parts.moved < len(numbers):
            if stop():
                return
            self._move(parts, moving, numbers[parts.moved : parts.moved + _SLICE])
        with self._changing, self._lock.writing():
            parts.moving, parts.moved = None, 0
        parts.main.copy_to_gpu()

    def _move(self, parts: _Parts, moving: Segment, numbers: Numbers) -> None:
        vectors = moving.vectors(parts.moved, len(numbers))
        with self._changing, self._lock.writing():
            parts.main.add(numbers, vectors)
            parts.moved += len(numbers)

    def rebuild(self, kind: str, read: ReadVectors, stop: Callable[[], bool] = lambda: False) -> bool:
        """Builds the index again as a kind from the store, follows the changes meanwhile, then replaces it.

        Nobody waits for it but changes, at its very end and for some milliseconds. Returns False where it was stopped.
        Raises ValueError for a factory string that FAISS refuses.
        """
        with self._changing:
            self._journal = []
            numbers = self._living.numbers()
        try:
            segment = Segment.empty(kind, self.dimension, self._choice, len(numbers))
            if not segment.is_trained:
                _train(segment, numbers, read)
            for portion, vectors in read(numbers):
                segment.add(portion, vectors)
                if stop():
                    return False
            return self._catch_up(segment, read, stop)
        finally:
            self._journal = None

    def _catch_up(self, segment: Segment, read: ReadVectors, stop: Callable[[], bool]) -> bool:
        while not stop():
            with self._changing:
                missed = self._missed()
                if len(missed) <= _FEW:
                    _add(segment, missed, read)
                    segment.copy_to_gpu()
                    with self._lock.writing():
                        self._parts = _Parts(segment, self._flat())
                    return True
            _add(segment, missed, read)
        return False

    def _missed(self) -> Numbers:
        """Numbers that were added since the journal was last read."""
        journal, self._journal = self._journal or [], []
        return np.concatenate(journal) if journal else np.empty(0, np.int64)

    def with_main(self, work: Callable[[Segment], None]) -> None:
        """Runs work on the large segment while no change comes in; searches go on."""
        with self._changing:
            work(self._parts.main)

    def _allowed(self, allowed: Numbers | None) -> Bitmap | None:
        """Living vectors that may be answered; None for all."""
        if allowed is not None:
            return self._living.intersection(allowed)
        return self._living if self.dead else None

    def _flat(self) -> Segment:
        return Segment.empty("flat", self.dimension, self._choice)


def _nearest(part: Segment, rows: Vector, limit: int, allowed: Bitmap | None, threads: SearchThreads) -> Nearest:
    most = min(limit, len(part))
    return threads.search(lambda portion: part.search(portion, most, allowed), rows)


def _train(segment: Segment, numbers: Numbers, read: ReadVectors) -> None:
    size = training_for(len(numbers))
    sample = np.sort(np.random.default_rng(0).choice(numbers, size, replace=False))
    segment.train(np.concatenate([vectors for _, vectors in read(sample)]))


def _add(segment: Segment, numbers: Numbers, read: ReadVectors) -> None:
    for portion, vectors in read(numbers):
        segment.add(portion, vectors)


def _scores(scores: Vector, numbers: Numbers) -> dict[int, float]:
    """Scores by number; FAISS fills up with -1 what it doesn't find."""
    pairs = zip(numbers.tolist(), scores.tolist(), strict=True)
    return {number: score for number, score in pairs if number >= 0}


def _merged(parts: Sequence[tuple[Vector, Numbers]], limit: int) -> dict[int, float]:
    """The best of several segments; a number that moves over is in two of them."""
    together = {number: score for scores, numbers in parts for number, score in _scores(scores, numbers).items()}
    if len(together) <= limit:
        return together
    best = sorted(together.items(), key=lambda item: (-item[1], item[0]))
    return dict(best[:limit])
