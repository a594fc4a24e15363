"""The real services with judged sets in them, and what each system answers.

All services run as they ship, without sidecars; only the language model is the fake one where nothing is written.
"""

import hashlib
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.common import show
from bench.common.meshes import bench_mesh, state_dir
from bench.retrieving.sets import Asked, JudgedSet
from citemesh.client import Mesh
from citemesh.client.types import Candidate, Passage, Search, Upload
from citemesh.contract.bounds import MOST_SOURCES
from citemesh.errors import NotFound, PreconditionFailed
from citemesh.kit.settings import load
from cli.local_mesh.layout import StackOptions
from gateway.settings import GatewaySettings
from services.retrieval.settings import RetrievalSettings

SYSTEMS = ("lexical", "dense", "hybrid", "rerank", "default")
SHALLOW = 50
"""Passages asked of one search: enough for ten documents, and few enough that its depth is that of a search for ten."""
DEEP = 300
_SETTINGS = {"CITEMESH_GENERATION_ENGINE": "fake", "CITEMESH_RETRIEVAL_CACHED_QUERIES": "0"}
"""Every query is asked several times, and each time it is to cost what a new one costs."""


@dataclass(slots=True)
class Answers:
    """What a system answered: ids of documents, best first, a ranking a query, and milliseconds."""

    shallow: list[list[str]] = field(default_factory=list)
    deep: list[list[str]] = field(default_factory=list)
    ms: list[float] = field(default_factory=list)

    def add(self, shallow: Sequence[str], deep: Sequence[str], seconds: float) -> None:
        """Adds one query's."""
        self.shallow.append(list(dict.fromkeys(shallow)))
        self.deep.append(list(dict.fromkeys(deep)))
        self.ms.append(1000 * seconds)


@asynccontextmanager
async def services(keep: Path | None, writes: bool = False) -> AsyncIterator[Mesh]:
    """The services, over the store in `keep`, which may hold sets already, or over a new one that is gone afterwards.

    Args:
        writes: whether the language model is the real one.
    """
    if keep is None:
        with state_dir() as state:
            async with _services(state, writes) as mesh:
                yield mesh
    else:
        async with _services(keep, writes) as mesh:
            yield mesh


@asynccontextmanager
async def _services(state: Path, writes: bool) -> AsyncIterator[Mesh]:
    settings = _SETTINGS | ({"CITEMESH_GENERATION_ENGINE": "vllm"} if writes else {})
    async with bench_mesh(StackOptions(state_dir=state, mesh=False, env=settings)) as stack, stack.client() as mesh:
        yield mesh


async def fill(mesh: Mesh, judged: JudgedSet) -> tuple[str, float]:
    """Ingests a set through the Ingest stream, unless it is there; answers its collection and the seconds it took.

    The collection is named by a digest of the texts and of what they are cut and embedded by.
    """
    name = f"{judged.name}-{_digest(judged)}"
    started = time.monotonic()
    try:
        if (await mesh.collections.get(name)).documents == len(judged.documents):
            return name, 0.0
    except NotFound:
        await mesh.collections.create(name)
    with show.progress(f"{judged.name}: ingest", len(judged.documents)) as step:
        async for report in mesh.documents.ingest(_uploads(judged, name)):
            if report.state == "failed":
                raise PreconditionFailed("NOT_INGESTED", f"{report.document_id}: {report.error_message}", "see its log")
            if report.state in ("committed", "unchanged"):
                step()
    return name, time.monotonic() - started


async def ask(
    mesh: Mesh, collection: str, queries: Sequence[Asked], about: str, systems: Sequence[str] = SYSTEMS
) -> dict[str, Answers]:
    """Asks the systems every query, one at a time."""
    found = {name: Answers() for name in systems}
    await _ask(mesh, collection, "a first query, so that all is warm", {name: Answers() for name in systems})
    with show.progress(f"{about}: search", len(queries)) as step:
        for asked in queries:
            await _ask(mesh, collection, asked.text, found)
            step()
    return found


async def _ask(mesh: Mesh, collection: str, query: str, found: dict[str, Answers]) -> None:
    passages: Sequence[Passage] = ()
    far: list[str] = []
    spent = 0.0
    for mode in ("lexical", "dense", "hybrid"):
        if mode in found or (mode == "hybrid" and "rerank" in found):
            passages, far, spent = await _searched(mesh, collection, query, mode)
            if mode in found:
                found[mode].add(_ids(passages), far, spent)
    if "rerank" in found:
        started = time.perf_counter()
        order = await _reranked(mesh, query, passages)
        found["rerank"].add(order, [*order, *far], spent + time.perf_counter() - started)
    if "default" in found:
        started = time.perf_counter()
        shallow = await mesh.query.search(query, collection, load(GatewaySettings).candidates)
        spent = time.perf_counter() - started
        deep = await mesh.query.search(query, collection, MOST_SOURCES)
        found["default"].add([it.document_id for it in shallow], [it.document_id for it in deep], spent)


async def _searched(mesh: Mesh, collection: str, query: str, mode: str) -> tuple[Sequence[Passage], list[str], float]:
    """The best passages, the documents of many more, and the seconds that the best took."""
    asked = Search(query, collection, SHALLOW, mode, with_token_vectors=mode == "hybrid", keep_duplicates=True)
    started = time.perf_counter()
    passages = (await mesh.retrieval.find(asked)).passages
    spent = time.perf_counter() - started
    deep = await mesh.retrieval.find(Search(query, collection, DEEP, mode, keep_duplicates=True))
    return passages, _ids(deep.passages), spent


async def _reranked(mesh: Mesh, query: str, passages: Sequence[Passage]) -> list[str]:
    candidates = [Candidate(p.chunk_id, p.text, p.fused, p.token_vectors, p.token_vectors_digest) for p in passages]
    documents = {passage.chunk_id: passage.document_id for passage in passages}
    return [documents[one.id] for one in await mesh.reranker.rerank(query, candidates)] if candidates else []


def _ids(passages: Sequence[Passage]) -> list[str]:
    return [passage.document_id for passage in passages]


def _uploads(judged: JudgedSet, collection: str) -> Iterator[Upload]:
    for document in judged.documents:
        yield Upload(
            document.id,
            document.text.encode(),
            collection=collection,
            document_id=document.id,
            title=document.title,
            media_type="text/plain",
        )


def _digest(judged: JudgedSet) -> str:
    settings = load(RetrievalSettings)
    decides = [settings.embedding_model, settings.chunk_tokens, settings.chunk_overlap]
    hashed = hashlib.sha256(repr(decides).encode())
    for document in judged.documents:
        hashed.update(repr((document.id, document.title, document.text)).encode())
    return hashed.hexdigest()[:12]


def milliseconds(answers: Answers) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Milliseconds of each query."""
    return np.array(answers.ms, np.float64)
