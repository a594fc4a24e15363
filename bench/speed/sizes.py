"""One size of a collection: the service over a socket beside FAISS alone, on the same vectors and the same index.

FAISS alone is the service's own index, read from its snapshot into the bench's process: the same graph, searched with
the same settings. In batches both sides have a thread a core: FAISS shares them out by itself, the service as it ships.
A single search is one thread's work on both sides. What else `citemesh up` sets is set here too: large pages of memory,
which FAISS alone should have as well (bench/retrieval_speed.py sees to that).

The service answers in two views: whole passages as an application reads them, and references, which are what FAISS
answers: ids and scores, near-duplicates kept.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from bench.common import show
from bench.common.run import shuffled
from bench.speed import children, vectors
from bench.speed.sides import BATCH, K, Sides, Sized, Worked, search_of
from citemesh.client import Mesh
from citemesh.client.types import SearchAnswer
from citemesh.cpu import usable_cores
from cli.local_mesh.layout import LARGE_PAGES
from services.retrieval.engines.durable.index.kinds import IndexChoice

START_S = 120.0
_SNAPSHOT_HEADER = 4096
_faiss: Any = faiss  # its stub lacks callbacks and casts


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
    index = raw_index(next((folder / "store").glob("collection-*.faiss")))
    async with _service(folder, env, sized) as (mesh, pid):
        await _measure(sized, Sides(sized, mesh, pid, index, asked), rounds, seed)
        sized.recall = vectors.recall(await _found(mesh, len(true)), true)
    return sized


@asynccontextmanager
async def _service(folder: Path, env: dict[str, str], sized: Sized) -> AsyncIterator[tuple[Mesh, int]]:
    """The retrieval service over a filled store, when it answers, and its process."""
    socket, log = folder / "r.sock", folder / "service.log"
    threads = str(max(1, usable_cores() // 2))
    env = env | {"CITEMESH_RETRIEVAL_LISTEN": f"unix:{socket}", "OMP_NUM_THREADS": threads}
    env["GLIBC_TUNABLES"] = LARGE_PAGES
    started = time.perf_counter()
    async with children.running("bench.speed.service", [str(folder / "queries.npy")], env, log) as service_name:
        async with Mesh({"retrieval": f"unix:{socket}"}, timeout_s=60.0) as mesh, asyncio.timeout(START_S):
            while not await mesh.serving("retrieval"):
                children.require_running(service_name, log)
                await asyncio.sleep(0.02)
        sized.start_s = time.perf_counter() - started
        async with Mesh({"retrieval": f"unix:{socket}"}, timeout_s=60.0) as mesh:
            yield mesh, service_name.pid
            sized.memory = children.resident_bytes(service_name.pid)
            sized.index = (await mesh.collections.get("default")).index


async def _measure(sized: Sized, sides: Sides, rounds: int, seed: int) -> None:
    for side in (sides.raw, sides.service):  # to warm up
        await side()
    for taken in (*sized.raw.values(), *sized.service.values(), sized.raw_one, sized.service_one):
        taken.clear()
    sized.worked |= {way: Worked() for way in sized.worked}
    await _rounds(f"searches of {sized.count}", (sides.raw, sides.service), rounds, seed)


async def _rounds(what: str, sides: Sequence[Callable[[], Awaitable[None]]], rounds: int, seed: int) -> None:
    with show.progress(what, rounds) as step:
        for order in shuffled(rounds, sides, seed):
            for side in order:
                await side()
            step()


async def _found(mesh: Mesh, count: int) -> NDArray[np.int64]:
    """Numbers of what the service finds for the first queries, [count, K]."""
    rows = []
    for start in range(0, count, BATCH):
        answers = await mesh.retrieval.find_many([search_of(at) for at in range(start, min(count, start + BATCH))])
        rows += [_numbers(answer) for answer in answers]
    return np.array(rows, np.int64)


def _numbers(answer: SearchAnswer) -> list[int]:
    found = [int(passage.chunk_id, 16) for passage in answer.passages]
    return found + [-1] * (K - len(found))


def raw_index(path: Path) -> Any:
    """The index of a snapshot, to be searched as the service does."""
    with path.open("rb") as file:
        file.seek(_SNAPSHOT_HEADER)
        index = _faiss.read_index(_faiss.PyCallbackIOReader(file.read))
    inner = _faiss.downcast_index(index.index)
    if isinstance(inner, faiss.IndexHNSW):
        inner.hnsw.efSearch = IndexChoice().candidates(index.ntotal)
    return index
