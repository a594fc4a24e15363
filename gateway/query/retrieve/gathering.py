"""Gathers passages in as many hops as a question needs, each planned from what the ones before found."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from citemesh.client.types import SearchEvent
from citemesh.errors import CiteMeshError
from gateway.query.answers.record import Record
from gateway.query.limits import Limits
from gateway.query.pack.packing import Scored
from gateway.query.plan.plan import Plan
from gateway.query.plan.planner import Finding, Planner
from gateway.query.ports import is_service_error
from gateway.query.request import Request
from gateway.query.retrieve.merge_hops import merged
from gateway.query.retrieve.ranking import Ranker, Ranking
from gateway.query.retrieve.search import Searcher, SearchResult, Sequences

Order = tuple[Scored, ...]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What all hops of a question found.

    Attributes:
        ranking: passages, best first.
        searches: how many were made.
        sequences: by collection, the last change that all searches saw; None where they saw different ones.
    """

    ranking: Ranking
    searches: int
    sequences: Sequences | None


@dataclass(slots=True)
class _Hops:
    """The hops so far: their plan, their findings and what their searches saw."""

    plan: Plan
    start_s: float
    findings: list[Finding]
    seen: list[Sequences]

    @property
    def sequences(self) -> Sequences | None:
        return self.seen[0] if len(set(self.seen)) == 1 else None


class Gatherer:
    """Searches, ranks, and searches on while the planner wants more and there is time."""

    def __init__(self, searcher: Searcher, ranker: Ranker, planner: Planner, limits: Limits) -> None:
        self._searcher, self._ranker, self._planner, self._limits = searcher, ranker, planner, limits

    async def gather(self, request: Request, record: Record, top_k: int = 0) -> Gathered:
        """All passages that were found, best first; none where the first search found nothing.

        Raises NotFound for an unknown collection, Unavailable where search is down, DeadlineExceeded.
        """
        hops = _Hops(request.plan, asyncio.get_running_loop().time(), [], [])
        await self._hop(request, record, hops, request.plan.hops, max(top_k, self._limits.candidates))
        while queries := await self._next_queries(request, record, hops):
            if not await self._later_hop(request, record, hops, queries):
                break
        ranking = Ranking(merged(hops.findings), "not_ranked" not in record.notices)
        return Gathered(ranking, len(hops.seen), hops.sequences)

    async def _later_hop(self, request: Request, record: Record, hops: _Hops, queries: Sequence[str]) -> bool:
        """Searches a later hop; False where it broke, since what was found before still answers."""
        try:
            await self._hop(request, record, hops, queries, self._limits.hop_candidates)
        except CiteMeshError as error:
            if not is_service_error(error):
                raise
            log.warning("a later hop can't be searched: %s", error)
            record.note("fewer_hops")
            return False
        return True

    async def _hop(self, request: Request, record: Record, hops: _Hops, queries: Sequence[str], most: int) -> None:
        """Makes the searches of one hop side by side, and ranks what each found."""
        number = hops.findings[-1].hop + 1 if hops.findings else 1
        lexical = number > 1 and self._planner.lexical
        results = await self._search(request, record, number, queries, most, lexical)
        for query, result in zip(queries, results, strict=True):
            hops.seen.append(result.sequences)
            record.search_notices += result.notices
            await record.transcript.emit(SearchEvent(number, query, len(result.passages)))
        if lexical:
            orders = [in_its_order(result, hops.findings[0].ranked[0].score) for result in results]
        else:
            orders = await self._rank(request, record, queries, number, results)
        hops.findings += [Finding(query, order, number) for query, order in zip(queries, orders, strict=True)]

    async def _search(
        self, request: Request, record: Record, hop: int, queries: Sequence[str], most: int, lexical: bool
    ) -> list[SearchResult]:
        mode = "lexical" if lexical else "hybrid"
        with record.steps.step("retrieve", hop) as span:
            vectors = None if lexical else await self._ranker.vectors_of(request.cites)
            searches = (self._searcher.search(request.question, query, most, mode, vectors) for query in queries)
            results = await asyncio.gather(*searches)
            span.set_attribute("citemesh.found", sum(len(result.passages) for result in results))
        return results

    async def _rank(
        self, request: Request, record: Record, queries: Sequence[str], hop: int, results: Sequence[SearchResult]
    ) -> list[Order]:
        if not any(result.passages for result in results):
            return [()] * len(results)
        request.deadline.check("sources were found")
        with record.steps.step("rerank", hop) as span:
            pairs = zip(queries, results, strict=True)
            rankings = await asyncio.gather(*(self._order(query, result) for query, result in pairs))
            all_judged = all(ranking.judged for ranking in rankings)
            span.set_attribute("citemesh.judged", all_judged)
        if not all_judged:
            record.note("not_ranked")
        return [ranking.passages for ranking in rankings]

    async def _order(self, query: str, result: SearchResult) -> Ranking:
        return await self._ranker.rank(query, result.passages) if result.passages else Ranking((), True)

    async def _next_queries(self, request: Request, record: Record, hops: _Hops) -> tuple[str, ...]:
        """The queries of the next hop, sent as a new plan; none where nothing is left to ask or no time for it."""
        last = hops.findings[-1].hop
        if not hops.findings[0].ranked or last >= (request.question.max_hops or self._limits.hops):
            return ()
        planned = await self._planned(request, record, hops)
        queries = tuple(query for query in dict.fromkeys(planned) if query not in hops.plan.hops)
        if not queries:
            return ()
        seconds = (asyncio.get_running_loop().time() - hops.start_s) / last
        if request.deadline.remaining() < 2 * self._limits.reserve_s + 2 * seconds:
            record.note("fewer_hops")
            return ()
        hops.plan = replace(hops.plan, hops=(*hops.plan.hops, *queries))
        await record.transcript.emit(hops.plan.event())
        return queries

    async def _planned(self, request: Request, record: Record, hops: _Hops) -> tuple[str, ...]:
        """What the planner would search next, as long as there would be time to search for it."""
        with record.steps.step("plan", hops.findings[-1].hop + 1):
            try:
                async with asyncio.timeout(request.deadline.remaining() - 2 * self._limits.reserve_s):
                    return await self._planner.next(request.plan.question, hops.findings)
            except TimeoutError:
                record.note("fewer_hops")
                return ()


def in_its_order(result: SearchResult, best: float) -> Order:
    """What a search found in its own order; it can't fit the question better than the best that was judged by it."""
    return tuple(Scored(passage, best * min(1.0, max(0.0, passage.fused))) for passage in result.passages)
