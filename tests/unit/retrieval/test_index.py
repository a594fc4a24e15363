"""The FAISS index: filters, tombstones, and changes beside searches."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.retrieval.index.rwlock import ReadWriteLock
from services.retrieval.index.vectors import VectorIndex, loaded


def unit(count: int, dimension: int = 8, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


@settings(max_examples=40, deadline=None)
@given(st.sets(st.integers(0, 400)), st.sets(st.integers(0, 400)), st.integers(1, 50))
def test_it_agrees_with_numpy(removed: set[int], allowed: set[int], limit: int) -> None:
    index, vectors = VectorIndex(8), unit(400)
    numbers = np.arange(400, dtype=np.int64) * 7 + 3
    index.change(numbers, vectors)
    index.change(numbers[:0], vectors[:0], [int(numbers[at]) for at in removed if at < 400])
    query = unit(1, seed=9)[0]
    for among in (None, allowed):
        living = [at for at in range(400) if at not in removed and (among is None or at in among)]
        exact = sorted(living, key=lambda at: -float(vectors[at] @ query))[:limit]
        asked = None if among is None else np.array([numbers[at] for at in among if at < 400], dtype=np.int64)
        if asked is not None and not len(asked):
            continue
        found = index.search(query, limit, asked)
        assert set(found) == {int(numbers[at]) for at in exact}
        assert all(score == pytest.approx(float(vectors[(n - 3) // 7] @ query), abs=1e-5) for n, score in found.items())
    assert len(index) == 400 - len([at for at in removed if at < 400])


def test_a_dump_leaves_out_the_dead() -> None:
    index = VectorIndex(8)
    index.change(np.arange(100, dtype=np.int64), unit(100))
    index.change(np.empty(0, np.int64), unit(0), range(50))
    again = loaded(index.dump(), 8)
    assert again.numbers().tolist() == list(range(50, 100))
    with pytest.raises(ValueError, match="dimensions"):
        loaded(index.dump(), 9)


def test_searches_and_changes_at_once() -> None:
    index = VectorIndex(8)
    index.change(np.arange(1000, dtype=np.int64), unit(1000))
    stop = threading.Event()
    failures: list[BaseException] = []

    def search() -> None:
        try:
            while not stop.is_set():
                assert len(index.search(unit(1, seed=3)[0], 10)) == 10
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(1000, 4000, 100):
        index.change(np.arange(n, n + 100, dtype=np.int64), unit(100, seed=n), range(n - 1000, n - 900))
    stop.set()
    for thread in threads:
        thread.join(10)
    assert not failures
    assert len(index) == 1000


def test_a_waiting_writer_goes_before_new_readers() -> None:
    lock, order = ReadWriteLock(), []
    reading, writing = threading.Event(), threading.Event()

    def write() -> None:
        writing.set()
        with lock.writing():
            order.append("write")

    def read() -> None:
        with lock.reading():
            order.append("read")

    with lock.reading():
        writer = threading.Thread(target=write)
        writer.start()
        assert writing.wait(5)
        while not lock._waiting_writers:
            reading.wait(0.001)
        reader = threading.Thread(target=read)
        reader.start()
    writer.join(5)
    reader.join(5)
    assert order == ["write", "read"]
