"""Searches shared out over threads: the same answers, nobody waits for who is held up, and failures are told."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from services.retrieval.engines.durable.index.kinds import IndexChoice
from services.retrieval.engines.durable.index.search_threads import ALONE, SLICE, Nearest, SearchThreads
from services.retrieval.engines.durable.index.vectors import VectorIndex
from services.retrieval.types.chunk import Vector


def work(rows: Vector) -> Nearest:
    return rows * 2, rows.astype(np.int64)


def rows(count: int) -> Vector:
    return np.arange(count, dtype=np.float32).reshape(-1, 1)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_answers_come_in_the_order_of_the_rows(threads: int) -> None:
    spread = SearchThreads(threads)
    for count in (1, SLICE, SLICE + 1, 10 * SLICE - 1):
        scores, numbers = spread.search(work, rows(count))
        assert scores.ravel().tolist() == [2 * n for n in range(count)]
        assert numbers.ravel().tolist() == list(range(count))
    spread.close()
    spread.close()
    assert len(spread.search(work, rows(100))[0]) == 100, "and again after it was closed"
    spread.close()


def test_who_is_held_up_holds_up_one_slice_alone() -> None:
    others, done = threading.Event(), []

    def uneven(some: Vector) -> Nearest:
        if some[0, 0] == 0:
            assert others.wait(10), "the other slices are taken by the other thread"
        else:
            done.append(some[0, 0])
            if len(done) == 7:
                others.set()
        return work(some)

    spread = SearchThreads(2)
    assert len(spread.search(uneven, rows(8 * SLICE))[0]) == 8 * SLICE
    spread.close()


def test_a_failure_is_told_and_ends_the_rest() -> None:
    seen = []

    def failing(some: Vector) -> Nearest:
        seen.append(some)
        raise ValueError("no such dimension")

    spread = SearchThreads(3)
    with pytest.raises(ValueError, match="dimension"):
        spread.search(failing, rows(100 * SLICE))
    assert len(seen) <= 3
    assert len(spread.search(work, rows(100))[0]) == 100
    spread.close()


def test_several_share_the_threads() -> None:
    spread = SearchThreads(3)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda count: len(spread.search(work, rows(count))[0]), range(100, 140)))
    assert found == list(range(100, 140))
    spread.close()


@pytest.mark.parametrize("kind", ["flat", "hnsw"])
def test_an_index_answers_the_same_however_it_is_shared_out(kind: str) -> None:
    chance = np.random.default_rng(3)
    vectors = chance.standard_normal((2000, 8)).astype(np.float32)
    index, spread = VectorIndex(8, IndexChoice()), SearchThreads(3)
    index.change(np.arange(2000, dtype=np.int64), vectors, range(100))
    index.rebuild(kind, lambda numbers: iter([(numbers, vectors[numbers])]))
    asked = chance.standard_normal((70, 8)).astype(np.float32)
    for allowed in (None, np.arange(0, 2000, 3)):
        alone = index.search_many(asked, 10, allowed, ALONE)
        assert [list(it) for it in index.search_many(asked, 10, allowed, spread)] == [list(it) for it in alone]
    spread.close()
