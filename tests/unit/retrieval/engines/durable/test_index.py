"""The FAISS index: filters, tombstones, and changes beside searches."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.retrieval.engines.durable.index import snapshot
from services.retrieval.engines.durable.index.bitmap import Bitmap, Numbers
from services.retrieval.engines.durable.index.kinds import IndexChoice
from services.retrieval.engines.durable.index.rwlock import ReadWriteLock
from services.retrieval.engines.durable.index.vectors import ReadVectors, VectorIndex
from services.retrieval.types.chunk import Vector


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """FAISS' own threads wait for each other on a machine that runs other tests."""
    faiss.omp_set_num_threads(1)


def unit(count: int, dimension: int = 8, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


NUMBERS = st.sets(st.integers(0, 5000), max_size=60)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_members_are_a_set_of_numbers(added: set[int], removed: set[int], asked: set[int]) -> None:
    members, expected = Bitmap(), set[int]()
    for numbers in (added, asked, added):
        members.add(array(numbers))
        expected |= numbers
    members.remove(array(removed))
    expected -= removed
    assert (set(members.numbers().tolist()), len(members)) == (expected, len(expected))
    assert members.holds(array(asked)).tolist() == [n in expected for n in array(asked).tolist()]
    assert set(members.intersection(array(asked)).numbers().tolist()) == expected & asked
    assert len(members.intersection(array(asked))) == len(expected & asked)


def array(numbers: set[int]) -> Numbers:
    return np.fromiter(numbers, dtype=np.int64)


def reader(vectors: Vector) -> ReadVectors:
    """Reads vectors whose numbers are their places."""

    def read(numbers: Numbers) -> Iterator[tuple[Numbers, Vector]]:
        for start in range(0, len(numbers), 100):
            portion = numbers[start : start + 100]
            yield portion, vectors[portion]

    return read


def best(vectors: Vector, query: Vector, among: set[int], limit: int) -> list[int]:
    return sorted(among, key=lambda at: -float(vectors[at] @ query))[:limit]


KINDS = ["flat", "hnsw", "ivf", "IVF16,Flat"]


@pytest.mark.parametrize("kind", ["flat", "hnsw", "IVF16,Flat"])
@settings(max_examples=10, deadline=None)
@given(st.sets(st.integers(0, 399)), st.sets(st.integers(0, 399)), st.integers(1, 50))
def test_it_agrees_with_numpy(kind: str, removed: set[int], allowed: set[int], limit: int) -> None:
    """Whatever was removed and whatever is allowed; searched so widely that a graph and lists miss nothing."""
    index, vectors = VectorIndex(8, IndexChoice(ef_search=400, probes=1.0)), unit(400)
    places = np.arange(400, dtype=np.int64)
    index.change(places[:300], vectors[:300])
    assert index.rebuild(kind, reader(vectors))
    index.change(places[300:], vectors[300:], removed)
    index.move()
    query = unit(1, seed=9)[0]
    living = set(range(400)) - removed
    assert set(index.search(query, limit)) == set(best(vectors, query, living, limit))
    asked = np.fromiter(allowed, dtype=np.int64)
    found = index.search(query, limit, asked)
    assert set(found) == set(best(vectors, query, living & allowed, limit))
    assert all(score == pytest.approx(float(vectors[n] @ query), abs=1e-5) for n, score in found.items())
    assert len(index) == len(living)
    assert index.numbers().tolist() == sorted(living)
    assert index.dead == len(removed)


@pytest.mark.parametrize("kind", KINDS)
def test_k_come_back_when_k_exist(kind: str) -> None:
    """A filter of any size, and tombstones, on an index that is searched as narrowly as can be."""
    index, vectors = VectorIndex(8, IndexChoice(ef_search=1, probes=0.001)), unit(5000)
    places = np.arange(5000, dtype=np.int64)
    index.change(places, vectors)
    assert index.rebuild(kind, reader(vectors))
    index.change(places[:0], vectors[:0], range(0, 5000, 2))
    for step in (3, 50, 1111):
        allowed = places[::step]
        living = [n for n in allowed.tolist() if n % 2]
        for limit in (1, 10, 3000):
            assert len(index.search(vectors[7], limit, allowed)) == min(limit, len(living))
    assert len(index.search(vectors[7], 2600)) == 2500


def test_a_lossy_index_says_so() -> None:
    index, vectors = VectorIndex(8, IndexChoice()), unit(400)
    index.change(np.arange(400, dtype=np.int64), vectors)
    assert not index.lossy
    assert index.rebuild("HNSW8,SQ8", reader(vectors))
    assert index.lossy
    assert next(iter(index.search(vectors[3], 1))) == 3
    with pytest.raises(ValueError, match="Nonsense"):
        index.rebuild("Nonsense", reader(vectors))
    assert len(index.search(vectors[3], 10)) == 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_gives_back_what_was_written(kind: str, tmp_path: Path) -> None:
    choice = IndexChoice(probes=1.0)
    index, vectors = VectorIndex(8, choice), unit(500)
    index.change(np.arange(500, dtype=np.int64), vectors)
    assert index.rebuild(kind, reader(vectors))
    origin = snapshot.Origin("store", 1, "digest", 8)
    index.with_main(lambda segment: snapshot.write(tmp_path / "c.faiss", segment, origin, snapshot.Change(5, "ff")))
    segment, change = snapshot.read(tmp_path / "c.faiss", origin, choice)
    again = VectorIndex(8, choice, segment)
    assert (again.kind, change) == (kind, snapshot.Change(5, "ff"))
    assert again.numbers().tolist() == list(range(500))
    assert again.search(vectors[4], 20) == pytest.approx(index.search(vectors[4], 20))
    for other in (replace(origin, dimension=9), replace(origin, store="x"), replace(origin, collection=2)):
        with pytest.raises(snapshot.BadSnapshot, match="another"):
            snapshot.read(tmp_path / "c.faiss", other, choice)


def test_the_kind_goes_by_size() -> None:
    choice = IndexChoice(flat_up_to=100, hnsw_up_to=1000)
    assert [choice.kind_for(n) for n in (0, 100, 101, 1000, 1001)] == ["flat", "flat", "hnsw", "hnsw", "ivf"]
    assert [choice.kind_for(n, "hnsw") for n in (101, 51, 50)] == ["hnsw", "hnsw", "flat"]
    assert [choice.kind_for(n, "ivf") for n in (1001, 501, 500)] == ["ivf", "ivf", "hnsw"]
    assert IndexChoice(kind="flat", factory="HNSW8").kind_for(10**9) == "flat"
    assert IndexChoice(kind="ivf").kind_for(1) == "ivf"
    assert IndexChoice(factory="HNSW8,SQ8", flat_up_to=100).kind_for(101) == "HNSW8,SQ8"
    assert [replace(choice, gpu=True).kind_for(count) for count in (10, 150, 5000)] == ["flat", "ivf", "ivf"]


@pytest.mark.parametrize("kind", ["hnsw", "ivf", "flat"])
@pytest.mark.slow
def test_searches_see_nothing_wrong_during_switches_and_moves(kind: str) -> None:
    """A thread switches, compacts and moves without an end while others change and search, exactly all the while."""
    choice = IndexChoice(ef_search=1200, probes=1.0)
    index, vectors = VectorIndex(8, choice), unit(3500)
    places = np.arange(3500, dtype=np.int64)
    index.change(places[:1000], vectors[:1000])
    rounds = [0]

    def tend() -> None:
        assert index.rebuild(kind, reader(vectors))
        index.move()
        assert index.rebuild("flat", reader(vectors))
        rounds[0] += 1

    def search() -> None:
        at = random.randrange(100)  # these stay for ever
        found = index.search(vectors[at], 10)
        assert next(iter(found)) == at
        assert len(found) == 10
        assert set(index.search(vectors[at], 5, places[at : at + 1])) == {at}

    with running(tend, search) as failures:
        for start in range(1000, 3500, 50):
            gone = range(start - 900, start - 850)
            index.change(places[start : start + 50], vectors[start : start + 50], gone)
            assert not set(gone) & set(index.search(vectors[gone[0]], 100))
            assert start in index.search(vectors[start], 1)
        deadline = time.monotonic() + 20
        while rounds[0] < 2 and not failures and time.monotonic() < deadline:
            time.sleep(0.01)
    assert not failures
    assert rounds[0] >= 2
    assert index.numbers().tolist() == sorted({*range(100), *range(2600, 3500)})


@contextmanager
def running(*works: Callable[[], None]) -> Iterator[list[BaseException]]:
    """Threads that do their work over and over until the block ends; what failed, if anything."""
    stop, failures = threading.Event(), list[BaseException]()

    def run(work: Callable[[], None]) -> None:
        try:
            while not stop.is_set():
                work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield failures
    finally:
        stop.set()
        for thread in threads:
            thread.join(20)


def test_searches_and_changes_at_once() -> None:
    index = VectorIndex(8)
    index.change(np.arange(1000, dtype=np.int64), unit(1000))

    def search() -> None:
        assert len(index.search(unit(1, seed=3)[0], 10)) == 10

    with running(search, search, search) as failures:
        for n in range(1000, 4000, 100):
            index.change(np.arange(n, n + 100, dtype=np.int64), unit(100, seed=n), range(n - 1000, n - 900))
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


def test_a_graph_of_more_is_searched_wider() -> None:
    choice = IndexChoice(ef_search=96)
    assert [choice.candidates(count) for count in (1, 50_000, 100_000, 400_000, 1_000_000)] == [96, 96, 96, 192, 304]
