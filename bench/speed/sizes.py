"""One size of a collection: the service over a socket beside FAISS alone, on the same vectors and the same index.

FAISS alone is the service's own index, read from its snapshot into the bench's process: the same graph, searched with
the same settings, by a thread a core as FAISS does by itself, and by one. The service has the threads that
`citemesh up` gives it: half of the cores, as other rooms want some too.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from bench.common import show
from bench.common.machine import cores
from bench.common.run import shuffled
from bench.speed import children, vectors
from bench.speed.vectors import Vectors
from citemesh.client import Mesh
from citemesh.client.types import Search, SearchAnswer
from services.retrieval.index.kinds import IndexChoice

K = 10
BATCH = 64
CALLERS = 32
START_S = 120.0
_SNAPSHOT_HEADER = 4096
_faiss: Any = faiss  # its stub lacks callbacks and casts


@dataclass(slots=True)
class Sized:
    """What one size took. Seconds are per search, round by round; ways: "one", "batch",
    "one thread" (a batch by FAISS) and "callers" (the service)."""

    count: int
    index: str = ""
    put_s: float = 0.0
    index_s: float = 0.0
    start_s: float = 0.0
    memory: int = 0
    disk: int = 0
    recall: float = 0.0
    raw: dict[str, list[float]] = field(default_factory=lambda: {"one": [], "batch": [], "one thread": []})
    service: dict[str, list[float]] = field(default_factory=lambda: {"one": [], "batch": [], "callers": []})
    raw_one: list[float] = field(default_factory=list)
    service_one: list[float] = field(default_factory=list)


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


async def measure(folder: Path, count: int, kind: str, rounds: int, seed: int) -> Sized:
    """Fills a store with so many vectors, under an index of a kind ("auto" goes by size), then measures.

    Raises PreconditionFailed where a program fails.
    """
    sized = Sized(count)
    made = vectors.make(count, seed, folder / "vectors.npy")
    asked = vectors.queries(made, seed)
    np.save(folder / "queries.npy", asked)
    show.say(f"{count} vectors: into the store")
    env = {"CITEMESH_STATE_DIR": str(folder), "CITEMESH_RETRIEVAL_INDEX_KIND": kind}
    env["CITEMESH_RETRIEVAL_CACHED_QUERIES"] = "0"
    took = await children.output_of("bench.speed.fill", [str(folder / "vectors.npy")], env)
    sized.put_s, sized.index_s = took["put_s"], took["index_s"]
    sized.disk = children.disk_bytes(folder / "store")
    true = vectors.exact(made, asked[:1000], K)
    async with _room(folder, env, sized) as mesh:
        await _measure(sized, mesh, raw_index(next((folder / "store").glob("collection-*.faiss"))), asked, rounds, seed)
        sized.recall = vectors.recall(await _found(mesh, len(true)), true)
    return sized


@asynccontextmanager
async def _room(folder: Path, env: dict[str, str], sized: Sized) -> AsyncIterator[Mesh]:
    """The retrieval room over a filled store, when it answers."""
    socket, log = folder / "r.sock", folder / "room.log"
    threads = str(max(1, cores() // 2))
    env = env | {"CITEMESH_RETRIEVAL_LISTEN": f"unix:{socket}", "OMP_NUM_THREADS": threads}
    started = time.perf_counter()
    async with children.running("bench.speed.room", [str(folder / "queries.npy")], env, log) as room:
        async with Mesh({"retrieval": f"unix:{socket}"}, timeout_s=60.0) as mesh, asyncio.timeout(START_S):
            while not await mesh.serving("retrieval"):
                children.require_running(room, log)
                await asyncio.sleep(0.02)
        sized.start_s = time.perf_counter() - started
        async with Mesh({"retrieval": f"unix:{socket}"}, timeout_s=60.0) as mesh:
            yield mesh
            sized.memory = children.resident_bytes(room.pid)
            sized.index = (await mesh.collections.get("default")).index


async def _measure(sized: Sized, mesh: Mesh, index: Any, asked: Vectors, rounds: int, seed: int) -> None:
    numbers, chance = _Next(len(asked)), {"one": 24, "batch": 2, "callers": 4 * CALLERS}

    async def raw() -> None:
        _faiss.omp_set_num_threads(1)  # a single search is the work of one; others would only be waited for
        for number in numbers.take(chance["one"]):
            _timed_raw(sized.raw_one, index, asked[number : number + 1])
        sized.raw["one"].append(_middle(sized.raw_one[-chance["one"] :]))
        for way, threads in (("one thread", 1), ("batch", cores())):
            _faiss.omp_set_num_threads(threads)
            spent: list[float] = []
            for _ in range(chance["batch"]):
                _timed_raw(spent, index, asked[numbers.take(BATCH)])
            sized.raw[way].append(sum(spent) / (chance["batch"] * BATCH))

    async def service() -> None:
        for number in numbers.take(chance["one"]):
            await _timed(sized.service_one, mesh.retrieval.find(_search(number)))
        sized.service["one"].append(_middle(sized.service_one[-chance["one"] :]))
        spent: list[float] = []
        for _ in range(chance["batch"]):
            await _timed(spent, mesh.retrieval.find_many([_search(number) for number in numbers.take(BATCH)]))
        sized.service["batch"].append(sum(spent) / (chance["batch"] * BATCH))
        sized.service["callers"].append(await _callers(mesh, numbers.take(chance["callers"])))

    for side in (raw, service):  # to warm up
        await side()
    for taken in (*sized.raw.values(), *sized.service.values(), sized.raw_one, sized.service_one):
        taken.clear()
    await _rounds(f"searches of {sized.count}", (raw, service), rounds, seed)


async def _rounds(what: str, sides: Sequence[Callable[[], Awaitable[None]]], rounds: int, seed: int) -> None:
    with show.progress(what, rounds) as step:
        for order in shuffled(rounds, sides, seed):
            for side in order:
                await side()
            step()


async def _callers(mesh: Mesh, numbers: Sequence[int]) -> float:
    """Seconds a search where many callers ask at once."""
    waiting = iter(numbers)

    async def caller() -> None:
        for number in waiting:
            await mesh.retrieval.find(_search(number))

    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return (time.perf_counter() - started) / len(numbers)


async def _found(mesh: Mesh, count: int) -> NDArray[np.int64]:
    """Numbers of what the service finds for the first queries, [count, K]."""
    rows = []
    for start in range(0, count, BATCH):
        answers = await mesh.retrieval.find_many([_search(at) for at in range(start, min(count, start + BATCH))])
        rows += [_numbers(answer) for answer in answers]
    return np.array(rows, np.int64)


def _numbers(answer: SearchAnswer) -> list[int]:
    found = [int(passage.chunk_id, 16) for passage in answer.passages]
    return found + [-1] * (K - len(found))


def _search(number: int) -> Search:
    return Search(str(number), top_k=K, mode="dense")


def raw_index(path: Path) -> Any:
    """The index of a snapshot, to be searched as the service does."""
    with path.open("rb") as file:
        file.seek(_SNAPSHOT_HEADER)
        index = _faiss.read_index(_faiss.PyCallbackIOReader(file.read))
    inner = _faiss.downcast_index(index.index)
    if isinstance(inner, faiss.IndexHNSW):
        inner.hnsw.efSearch = IndexChoice().candidates(index.ntotal)
    return index


def _timed_raw(spent: list[float], index: Any, rows: Vectors) -> None:
    started = time.perf_counter()
    index.search(rows, K)
    spent.append(time.perf_counter() - started)


async def _timed(spent: list[float], call: Awaitable[object]) -> None:
    started = time.perf_counter()
    await call
    spent.append(time.perf_counter() - started)


def _middle(values: Sequence[float]) -> float:
    return float(np.median(values))
