"""The comparison with the app that CiteMesh replaces: the same documents and questions, in one run.

CiteMesh is the retrieval service with the real model behind its sidecar and policy, asked over gRPC by one
channel. The peer is asked over HTTP/1.1 with connections that are kept. Callers are in the bench's process. Each
question is asked once of each side, and CiteMesh's cache of queries is off.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import torch

from bench.common import show
from bench.common.run import shuffled
from bench.common.stats import median, percentile
from bench.retrieving.sets import Asked, JudgedSet
from bench.speed import children
from bench.speed.corpora import ndcg_at_10, text_of
from citemesh.client import Mesh
from citemesh.client.types import Search, Upload
from citemesh.errors import PreconditionFailed
from citemesh.kit.settings import load
from citemesh.models import prepare
from cli.local_mesh.ports import why_taken
from services.retrieval.settings import RetrievalSettings

TOP_K = 10
CALLERS = (1, 8, 32)
START_S = 300.0
PORTS = range(20080, 20180)
Ask = Callable[[str], Coroutine[Any, Any, list[str]]]


@dataclass(slots=True)
class Side:
    """One way to search, and what it took: searches a second by callers, round by round, each search's seconds, and
    the quality of each answer."""

    name: str
    ask: Ask
    ingest_s: float = 0.0
    per_s: dict[int, list[float]] = field(default_factory=dict)
    seconds: dict[int, list[float]] = field(default_factory=dict)
    quality: dict[str, float] = field(default_factory=dict)

    async def turn(self, questions: Sequence[Asked], callers: int) -> None:
        """Asks so many questions, so many at once."""
        waiting, started = iter(questions), time.perf_counter()
        await asyncio.gather(*(self._caller(waiting, callers) for _ in range(callers)))
        self.per_s.setdefault(callers, []).append(len(questions) / (time.perf_counter() - started))

    async def _caller(self, waiting: Any, callers: int) -> None:
        for asked in waiting:
            started = time.perf_counter()
            ranking = await self.ask(asked.text)
            self.seconds.setdefault(callers, []).append(time.perf_counter() - started)
            self.quality[asked.text] = ndcg_at_10(ranking, asked)

    def row(self) -> tuple[str | float, ...]:
        """Name, seconds to take the documents in, then searches a second, p50 and p99 in ms by callers."""
        cells: list[str | float] = [self.name, self.ingest_s]
        for callers in CALLERS:
            taken = self.seconds[callers]
            cells += [median(self.per_s[callers]), 1e3 * percentile(taken, 0.5), 1e3 * percentile(taken, 0.99)]
        return tuple(cells)


async def compare(sides: Sequence[Side], judged: JudgedSet, rounds: int, seed: int) -> None:
    """Gives every side its turns. Questions are used once, at one number of callers."""
    waiting = iter(judged.queries)
    for side in sides:
        for _ in range(4):
            await side.ask("What is this about?")
    for callers in CALLERS:
        turns, many = turns_of(len(judged.queries), rounds, callers)
        with show.progress(f"{judged.name}, {callers} at once", turns) as step:
            for order in shuffled(turns, sides, seed + callers):
                questions = [next(waiting) for _ in range(many)]
                for side in order:
                    await side.turn(questions, callers)
                step()


def turns_of(all_of_them: int, rounds: int, callers: int) -> tuple[int, int]:
    """Turns, at most so many, and questions of each: larger shares for many callers, who need one each at least."""
    share = int({1: 0.1, 8: 0.3, 32: 0.6}[callers] * all_of_them)
    many = max(callers, share // rounds)
    return max(1, min(rounds, share // many)), many


async def citemesh(name: str, mesh: Mesh, judged: JudgedSet, collection: str) -> Side:
    """CiteMesh with the documents in a collection of it."""
    await mesh.collections.create(collection)
    uploads = [
        Upload(one.id, one.text.encode(), collection, f"{collection}:{one.id}", one.title, media_type="text/plain")
        for one in judged.documents
    ]
    started = time.perf_counter()
    failed = [it async for it in mesh.documents.ingest(uploads) if it.state == "failed"]
    if failed:
        raise PreconditionFailed("BENCH_INGEST", f"{len(failed)} failed: {failed[0].error_message}", "see the log")
    seconds = time.perf_counter() - started

    return Side(name, asking(mesh, collection), seconds)


def asking(mesh: Mesh, collection: str) -> Ask:
    """Asks CiteMesh for ids of documents, best first."""

    async def ask(text: str) -> list[str]:
        answer = await mesh.retrieval.find(Search(text, collection, TOP_K))
        return list(dict.fromkeys(it.document_id.partition(":")[2] for it in answer.passages))

    return ask


def precision() -> str:
    """The number format that CiteMesh's own setting "auto" takes on this processor."""
    supported = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    return "bfloat16" if supported() else "float32"


@asynccontextmanager
async def peers(
    judged: JudgedSet, folder: Path, precision: str, servers: Sequence[str] = ("waitress", "flask")
) -> AsyncIterator[list[Side]]:
    """The peer behind waitress, and behind Flask's own server, each with the documents."""
    async with AsyncExitStack() as stack:
        sides = []
        for server in servers:
            sides.append(await stack.enter_async_context(_peer(judged, folder / server, server, precision)))
        yield sides


@asynccontextmanager
async def _peer(judged: JudgedSet, folder: Path, server: str, precision: str) -> AsyncIterator[Side]:
    corpus, log, settings = _written(judged, folder), folder / "peer.log", load(RetrievalSettings)
    port = next(number for number in PORTS if not why_taken(number))
    model = str(prepare(settings.embedding_model, settings.models_dir.expanduser()).directory)
    words = [model, str(corpus), str(folder / "store"), "--port", str(port), "--server", server]
    words += ["--precision", precision, "--threads", str(max(CALLERS))]
    url = f"http://127.0.0.1:{port}"
    async with children.running("bench.peers.flask_chroma", words, {}, log) as process:
        connector = aiohttp.TCPConnector(limit=max(CALLERS))
        async with aiohttp.ClientSession(connector=connector) as session:
            async with asyncio.timeout(START_S):
                while not await _answers(session, f"{url}/healthz"):
                    children.require_running(process, log)
                    await asyncio.sleep(0.1)
            yield Side(f"Flask + ChromaDB ({server})", _asking(session, f"{url}/v1/query"), _ingest_s(log))


def _written(judged: JudgedSet, folder: Path) -> Path:
    """The documents as the peer takes them."""
    lines = [
        json.dumps({"id": one.id, "text": text_of(one), "metadata": {"title": one.title or one.id}})
        for one in judged.documents
    ]
    folder.mkdir(parents=True)
    (folder / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder / "corpus.jsonl"


def _asking(session: aiohttp.ClientSession, url: str) -> Ask:
    async def ask(text: str) -> list[str]:
        async with session.post(url, json={"query": text, "top_k": TOP_K}) as response:
            response.raise_for_status()
            found: list[str] = (await response.json())["ids"]
            return found

    return ask


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False


def _ingest_s(log: Path) -> float:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.startswith('{"ready"')]
    return float(json.loads(lines[-1])["seconds"])
