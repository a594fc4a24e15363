"""Orders what a search found by how well it answers."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from citemesh.client.types import Candidate, Passage
from citemesh.errors import CiteMeshError
from gateway.query.limits import Limits
from gateway.query.pack.packing import Scored
from gateway.query.pack.token_vectors import bounded
from gateway.query.ports import RerankerPort
from gateway.query.retrieve.reranker_share import Judges

log = logging.getLogger(__name__)
ALL = 0
SPARE = 3
"""Passages for each source that is packed: those that are too alike or too long to be packed are passed over."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Passages, best first, and whether the reranker judged them."""

    passages: tuple[Scored, ...]
    judged: bool


class Ranker:
    """Ranks passages."""

    def __init__(self, reranker: RerankerPort, limits: Limits) -> None:
        self._reranker = reranker
        self._judges = Judges(reranker)
        self._limits = limits

    async def vectors_of(self, cited: bool) -> int | None:
        """Of how many of the best passages of a search the reranker can use token vectors; 0: of all, None: of none.

        Args:
            cited: whether sentences are going to be checked against some of what is found.
        """
        judge = await self._judges.get()
        if judge is None or (judge.token_vectors_digest and judge.order_share > 0):
            return ALL
        return SPARE * self._limits.sources if judge.token_vectors_digest and cited else None

    async def rank(self, query: str, passages: Sequence[Passage]) -> Ranking:
        """Orders passages by the reranker; in the order of the search where it has no share in it, or is down."""
        judge = await self._judges.get()
        if judge is not None and judge.order_share == 0:
            return Ranking(tuple(without_overlaps(by_search(passages))), True)
        try:
            async with asyncio.timeout(self._limits.rank_s):
                scored, by_model = await self._judge(query, passages), True
        except (CiteMeshError, TimeoutError) as error:
            log.warning("the reranker can't judge: %s", error)
            self._judges.forget()
            scored, by_model = [Scored(passage, passage.fused) for passage in passages], False
        return Ranking(tuple(without_overlaps(scored)), by_model)

    async def _judge(self, query: str, passages: Sequence[Passage]) -> list[Scored]:
        # By place, not by chunk: two collections may hold the same chunk.
        candidates = [
            Candidate(str(at), p.text, p.fused, p.token_vectors, p.token_vectors_digest)
            for at, p in enumerate(passages)
        ]
        ranked = await self._reranker.rerank(query, bounded(candidates))
        by_id = {str(at): passage for at, passage in enumerate(passages)}
        return [
            Scored(by_id[judged_passage.id], judged_passage.score)
            for judged_passage in ranked
            if judged_passage.id in by_id
        ]


def by_search(passages: Sequence[Passage]) -> list[Scored]:
    """Passages as a reranker without a share orders them: by the search's scores, moved to 0..1, ties as they come."""
    scores = [passage.fused for passage in passages]
    low, spread = min(scores, default=0.0), max(scores, default=0.0) - min(scores, default=0.0)
    scored = [Scored(candidate, (candidate.fused - low) / spread if spread > 0 else 1.0) for candidate in passages]
    return sorted(scored, key=lambda candidate: -candidate.score)


def without_overlaps(scored: Sequence[Scored]) -> list[Scored]:
    """Leaves out a passage of which a better one of the same document holds more than half."""
    passages: list[Scored] = []
    for candidate in scored:
        if not any(_repeats(candidate.passage, other.passage) for other in passages):
            passages.append(candidate)
    return passages


def _repeats(first: Passage, other: Passage) -> bool:
    if (first.collection, first.document_id) != (other.collection, other.document_id):
        return False
    first_span, other_span = first.location.span, other.location.span
    shared = min(first_span.end, other_span.end) - max(first_span.start, other_span.start)
    return 2 * shared > first_span.end - first_span.start
