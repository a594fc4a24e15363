"""Finds the passages that a question can be answered from: search, then rerank."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from citemesh.client.types import Candidate, Passage, Question
from citemesh.errors import CiteMeshError
from gateway.query.context import Scored
from gateway.query.limits import Limits
from gateway.query.ports import RerankerPort, RetrievalPort

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Passages, best first, and whether the reranker judged them."""

    passages: tuple[Scored, ...]
    judged: bool


class Finder:
    """Searches and ranks."""

    def __init__(self, retrieval: RetrievalPort, reranker: RerankerPort, limits: Limits) -> None:
        self._retrieval = retrieval
        self._reranker = reranker
        self._limits = limits

    async def search(self, question: Question, query: str, top_k: int) -> tuple[Passage, ...]:
        """Passages for a query. Raises NotFound for an unknown collection, Unavailable where search is down."""
        return await self._retrieval.search(
            query,
            collection=question.collection,
            top_k=top_k,
            mode="hybrid",
            source_types=question.source_types,
            with_token_ids=True,
        )

    async def rank(self, query: str, passages: Sequence[Passage]) -> Ranking:
        """Orders passages by the reranker, or leaves the order of the search where it is down."""
        try:
            async with asyncio.timeout(self._limits.rank_s):
                scored, judged = await self._judge(query, passages), True
        except (CiteMeshError, TimeoutError) as error:
            log.warning("the reranker can't judge: %s", error)
            scored, judged = [Scored(passage, passage.fused) for passage in passages], False
        return Ranking(tuple(without_overlaps(scored)), judged)

    async def _judge(self, query: str, passages: Sequence[Passage]) -> list[Scored]:
        candidates = [Candidate(p.chunk_id, p.text, p.fused) for p in passages]
        ranked = await self._reranker.rerank(query, candidates)
        by_id = {passage.chunk_id: passage for passage in passages}
        return [Scored(by_id[one.id], one.score) for one in ranked if one.id in by_id]


def without_overlaps(scored: Sequence[Scored]) -> list[Scored]:
    """Leaves out a passage of which a better one of the same document holds more than half."""
    kept: list[Scored] = []
    for one in scored:
        if not any(_repeats(one.passage, other.passage) for other in kept):
            kept.append(one)
    return kept


def _repeats(one: Passage, other: Passage) -> bool:
    if (one.collection, one.document_id) != (other.collection, other.document_id):
        return False
    mine, theirs = one.location.span, other.location.span
    shared = min(mine.end, theirs.end) - max(mine.start, theirs.start)
    return 2 * shared > mine.end - mine.start
