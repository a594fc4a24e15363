"""Vector indexes by kind and size: recall@10 against exact search, milliseconds, building, memory; filters and searches
beside a rebuild.

The vectors are not of texts: they are drawn as sentence embeddings lie, in nested topics on few strong directions with
a common one, of length one and 384 numbers (a query's best has a cosine of about 0.8, its tenth 0.75, a stranger 0.1).
What is searched is the service's own index class, in one thread, without the store: what the settings decide.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import faiss
import numpy as np
from numpy.typing import NDArray

from bench.common.report import Aim, Cell, Prediction, Question, Report, Table
from bench.common.run import run
from bench.common.stats import Estimate, median, percentile
from services.retrieval.engines.durable.index.bitmap import Numbers
from services.retrieval.engines.durable.index.kinds import IndexChoice
from services.retrieval.engines.durable.index.vectors import VectorIndex
from services.retrieval.types.chunk import Vector

DIMENSION = 384
QUERIES = 200
BEST = 10
CHOICE = IndexChoice()
KINDS = ("flat", "hnsw", "ivf")
SHARES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.5)
WIDTHS = {"hnsw": (32, 64, 96, 192), "ivf": (0.005, 0.02, 0.05, 0.1)}


def _recall(kind: str, why: str) -> Question:
    return Question(f"{kind}: recall@10", "", Prediction(0.95, 1.0, why), Aim(0.95))


RECALL = {"hnsw": _recall("hnsw", "clustered vectors are easy"), "ivf": _recall("ivf", "a twentieth of the lists")}
FILTERED = Question(
    "hnsw: recall@10 under a filter, worst share", "", Prediction(0.95, 1.0, "exact below a fifth"), Aim(0.95)
)
BESIDE = Question(
    "longest search beside a rebuild / p99 alone", "ratio", Prediction(1, 20, "one processor is the rebuild's")
)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Vectors, queries, and the places of each query's ten best."""

    vectors: Vector
    queries: Vector
    best: NDArray[np.int64]

    def read(self, numbers: Numbers) -> Iterator[tuple[Numbers, Vector]]:
        """As the store reads them."""
        for start in range(0, len(numbers), 1024):
            portion = numbers[start : start + 1024]
            yield portion, self.vectors[portion]


def corpus(count: int, seed: int) -> Corpus:
    """Nested topics, on directions whose weight falls with the root of their number."""
    chance = np.random.default_rng(seed)
    turn = np.linalg.qr(chance.standard_normal((DIMENSION, DIMENSION)))[0]
    weights = 1 / np.sqrt(np.arange(1, DIMENSION + 1))
    fields = chance.standard_normal((max(8, count // 2000), DIMENSION))
    topics = 0.8 * chance.standard_normal((max(64, count // 50), DIMENSION)) + chance.choice(
        fields, max(64, count // 50)
    )

    def draw(many: int) -> Vector:
        rows = chance.choice(topics, many) + 0.8 * chance.standard_normal((many, DIMENSION))
        rows = (rows * weights) @ turn + 0.5 * turn[0]
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    vectors, queries = draw(count), draw(QUERIES)
    exact = faiss.IndexFlatIP(DIMENSION)
    exact.add(vectors)
    return Corpus(vectors, queries, exact.search(queries, BEST)[1])


async def measure(report: Report) -> None:
    """Every kind at every size."""
    faiss.omp_set_num_threads(1)
    sizes = [10_000] if report.options.quick else [10_000, 100_000]
    report.setting.update(sizes=sizes, queries=QUERIES, dimension=DIMENSION)
    kinds: list[list[Cell]] = []
    filters: list[list[Cell]] = []
    for size in sizes:
        data = corpus(size, report.options.seed)
        for kind in KINDS:
            index, seconds = _built(data, kind)
            kinds += [[size, kind, round(seconds, 1), *row] for row in _widths(data, index, kind)]
            if kind == "hnsw":
                filters += [[size, *row] for row in _filters(data, index, report.options.seed)]
                if size == sizes[-1]:
                    report.answer(BESIDE, _beside(data, index))
            if kind in RECALL and size == sizes[-1]:
                found = _recalls(data, lambda query, index=index: index.search(query, BEST), data.best)  # type: ignore[misc]  # bound now
                report.answer(RECALL[kind], found)
    worst = min(float(row[2]) for row in filters)
    report.answer(FILTERED, Estimate(worst, worst, worst, QUERIES))
    columns = ["vectors", "kind", "building s", "width", "recall@10", "ms p50", "ms p99", "MiB a million"]
    report.tables.append(Table("Kinds, one thread", columns, kinds))
    report.tables.append(Table("Filters on a graph", ["vectors", "share", "recall@10", "ms p50", "ms p99"], filters))


def _built(data: Corpus, kind: str) -> tuple[VectorIndex, float]:
    index = VectorIndex(DIMENSION, CHOICE)
    places = np.arange(len(data.vectors), dtype=np.int64)
    index.change(places, data.vectors)
    started = time.perf_counter()
    index.rebuild(kind, data.read)
    return index, time.perf_counter() - started


def _widths(data: Corpus, index: VectorIndex, kind: str) -> Iterator[list[Cell]]:
    main = index._parts.main
    size = len(faiss.serialize_index(main.index)) / len(data.vectors) * 1e6 / 2**20
    for width in WIDTHS.get(kind, (0,)):
        main._choice = replace(CHOICE, ef_search=int(width)) if kind == "hnsw" else replace(CHOICE, probes=width or 1.0)
        recall = _recalls(data, lambda query: index.search(query, BEST), data.best).value
        yield [width, recall, *_ms(data.queries, lambda query: index.search(query, BEST)), round(size)]
    main._choice = CHOICE


def _filters(data: Corpus, index: VectorIndex, seed: int) -> Iterator[list[Cell]]:
    chance = np.random.default_rng(seed)
    for share in SHARES:
        allowed = np.sort(chance.choice(len(data.vectors), max(BEST, int(share * len(data.vectors))), replace=False))
        exact = faiss.IndexFlatIP(DIMENSION)
        exact.add(data.vectors[allowed])
        best = allowed[exact.search(data.queries, BEST)[1]]

        def search(query: Vector, among: Numbers = allowed) -> dict[int, float]:
            return index.search(query, BEST, among)

        yield [share, _recalls(data, search, best).value, *_ms(data.queries, search)]


def _beside(data: Corpus, index: VectorIndex) -> Estimate:
    """The longest search while a graph is built beside, by the p99 without."""
    alone = percentile(_times(data.queries, lambda query: index.search(query, BEST)), 0.99)
    building = threading.Thread(target=lambda: index.rebuild("hnsw", data.read))
    building.start()
    longest, count = 0.0, 0
    while building.is_alive():
        times = _times(data.queries, lambda query: index.search(query, BEST))
        longest, count = max(longest, *times), count + len(times)
    building.join()
    ratio = longest / alone
    return Estimate(ratio, ratio, ratio, count)


def _recalls(data: Corpus, search: Callable[[Vector], dict[int, float]], best: NDArray[np.int64]) -> Estimate:
    found = [
        len(search(query).keys() & set(row)) / BEST for query, row in zip(data.queries, best.tolist(), strict=True)
    ]
    value = float(np.mean(found))
    spread = 1.96 * float(np.std(found)) / len(found) ** 0.5
    return Estimate(value, value - spread, min(1.0, value + spread), len(found))


def _ms(queries: Vector, search: Callable[[Vector], object]) -> tuple[float, float]:
    times = _times(queries, search)
    return round(1e3 * median(times), 3), round(1e3 * percentile(times, 0.99), 3)


def _times(queries: Vector, search: Callable[[Vector], object]) -> Sequence[float]:
    times = []
    for query in queries:
        started = time.perf_counter()
        search(query)
        times.append(time.perf_counter() - started)
    return times


if __name__ == "__main__":
    sys.exit(run("vector_index", __doc__ or "", [*RECALL.values(), FILTERED, BESIDE], measure))
