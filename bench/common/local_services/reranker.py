"""The reranker service without its service."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from citemesh.client.types import Candidate, Judge, Ranked, Span, Support
from citemesh.kit.settings import load
from citemesh.models.tokens.token_vectors import StoredVectors, unpack
from services.reranker.blend import rank
from services.reranker.engine import CandidatePassage as EngineCandidate
from services.reranker.engine import PassageSupport as EngineSupport
from services.reranker.engine import RerankerEngine
from services.reranker.main import engine_of
from services.reranker.pool import RerankerPool
from services.reranker.settings import RerankerSettings


class LocalReranker:
    """RerankerPort over the service's engine and pool."""

    def __init__(self, engine: RerankerEngine, pool: RerankerPool, settings: RerankerSettings) -> None:
        self._engine = engine
        self._pool = pool
        self._settings = settings

    async def rerank(self, query: str, candidates: Sequence[Candidate], top_k: int = 0) -> tuple[Ranked, ...]:
        """Candidates, best first."""
        texts, stored = [candidate.text for candidate in candidates], self._stored(candidates)
        scores = await self._pool.run(
            "reranking", lambda alive: self._engine.relevance(query, texts, alive, stored), 0, self._settings.timeout_s
        )
        given = [EngineCandidate(c.id, c.text, c.retrieval_score) for c in candidates]
        ranked = rank(given, scores, self._settings.weight, top_k or len(given))
        return tuple(Ranked(one.id, one.score, one.model_score) for one in ranked)

    async def attribute(
        self, sentences: Sequence[str], passages: Sequence[Candidate], max_support: int = 3
    ) -> tuple[tuple[Support, ...], ...]:
        """For each sentence, the passages that support it."""
        texts, stored = [passage.text for passage in passages], self._stored(passages)
        found = await self._pool.run(
            "checking", lambda alive: self._engine.support(sentences, texts, alive, stored), 0, self._settings.timeout_s
        )
        return tuple(tuple(self._support(one, passages) for one in each[:max_support]) for each in found)

    async def model(self) -> Judge:
        """Which model judges."""
        form = self._engine.vector_form
        return Judge(self._engine.name, self._settings.weight, form.digest if form else "")

    def _stored(self, candidates: Sequence[Candidate]) -> list[StoredVectors | None]:
        """Vectors that came with the candidates and are of this engine's form."""
        form = self._engine.vector_form
        return [
            unpack(c.token_vectors, len(c.text)) if form and c.token_vectors_digest == form.digest else None
            for c in candidates
        ]

    def _support(self, one: EngineSupport, passages: Sequence[Candidate]) -> Support:
        supported = one.score >= self._settings.threshold
        return Support(passages[one.passage].id, one.score, Span(one.start, one.end), supported)


@asynccontextmanager
async def local_reranker() -> AsyncIterator[LocalReranker]:
    """A reranker service as its settings say. Raises as its service does when it starts."""
    settings = load(RerankerSettings)
    engine, pool = engine_of(settings), RerankerPool(settings.workers, settings.queue)
    await asyncio.to_thread(engine.load)
    try:
        yield LocalReranker(engine, pool, settings)
    finally:
        pool.close()
