"""Gathers passages in as many hops as a question needs, each planned from what the ones before found."""

import asyncio
import logging
from collections.abc import Sequence

from citemesh.client.types import SearchEvent
from citemesh.errors import CiteMeshError
from gateway.query.faults import is_services
from gateway.query.limits import Limits
from gateway.query.pack.packing import Scored
from gateway.query.plan.plan import Plan
from gateway.query.plan.planner import Finding, Planner
from gateway.query.retrieve.merge_hops import woven
from gateway.query.retrieve.ranking import Ranker, Ranking
from gateway.query.retrieve.search import Found, Searcher
from gateway.query.run import Run

Order = tuple[Scored, ...]
log = logging.getLogger(__name__)


class Gatherer:
    """Searches, ranks, and searches on while the planner wants more and there is time."""

    def __init__(self, searcher: Searcher, ranker: Ranker, planner: Planner, limits: Limits) -> None:
        self._searcher, self._ranker, self._planner, self._limits = searcher, ranker, planner, limits

    async def gather(self, run: Run, top_k: int = 0) -> Ranking:
        """All passages that were found, best first; none where the first search found nothing.

        Raises NotFound for an unknown collection, Unavailable where search is down, DeadlineExceeded.
        """
        started = asyncio.get_running_loop().time()
        findings = await self._hop(run, run.plan.hops, (), max(top_k, self._limits.candidates))
        while queries := await self._next(run, findings, started):
            if not (more := await self._later(run, queries, findings)):
                break
            findings += more
        return Ranking(woven(findings), "not_ranked" not in run.notices)

    async def _later(self, run: Run, queries: Sequence[str], findings: Sequence[Finding]) -> list[Finding]:
        """What a later hop found; nothing where it broke, since what was found before still answers."""
        try:
            return await self._hop(run, queries, findings, self._limits.hop_candidates)
        except CiteMeshError as error:
            if not is_services(error):
                raise
            log.warning("a later hop can't be searched: %s", error)
            run.notices.append("fewer_hops")
            return []

    async def _hop(self, run: Run, queries: Sequence[str], findings: Sequence[Finding], most: int) -> list[Finding]:
        """The searches of one hop, side by side, and each one's order."""
        hop = findings[-1].hop + 1 if findings else 1
        lexical = hop > 1 and self._planner.lexical
        mode = "lexical" if lexical else "hybrid"
        with run.steps.step("retrieve", hop) as span:
            vectors = None if lexical else await self._ranker.vectors_of(run.cites)
            searches = (self._searcher.search(run.question, query, most, mode, vectors) for query in queries)
            found = await asyncio.gather(*searches)
            span.set_attribute("citemesh.found", sum(len(one.passages) for one in found))
        for query, one in zip(queries, found, strict=True):
            run.saw(one.sequences)
            run.told += one.notices
            await run.transcript.emit(SearchEvent(hop, query, len(one.passages)))
        if lexical:
            ranked = [in_its_order(one, findings[0].ranked[0].score) for one in found]
        else:
            ranked = await self._rank(run, queries, hop, found)
        return [Finding(query, one, hop) for query, one in zip(queries, ranked, strict=True)]

    async def _rank(self, run: Run, queries: Sequence[str], hop: int, found: Sequence[Found]) -> list[Order]:
        if not any(one.passages for one in found):
            return [()] * len(found)
        run.deadline.check("sources were found")
        with run.steps.step("rerank", hop) as span:
            pairs = zip(queries, found, strict=True)
            rankings = await asyncio.gather(*(self._order(query, one) for query, one in pairs))
            judged = all(ranking.judged for ranking in rankings)
            span.set_attribute("citemesh.judged", judged)
        if not judged:
            run.notices.append("not_ranked")
        return [ranking.passages for ranking in rankings]

    async def _order(self, query: str, found: Found) -> Ranking:
        return await self._ranker.rank(query, found.passages) if found.passages else Ranking((), True)

    async def _next(self, run: Run, findings: Sequence[Finding], started: float) -> tuple[str, ...]:
        """The queries of the next hop, told as a new plan; none where nothing is left to ask or no time for it."""
        if not findings[0].ranked or findings[-1].hop >= (run.question.max_hops or self._limits.hops):
            return ()
        wanted = await self._wanted(run, findings)
        queries = tuple(query for query in dict.fromkeys(wanted) if query not in run.plan.hops)
        if not queries:
            return ()
        seconds = (asyncio.get_running_loop().time() - started) / findings[-1].hop
        if run.deadline.remaining() < 2 * self._limits.reserve_s + 2 * seconds:
            run.notices.append("fewer_hops")
            return ()
        run.plan = Plan(run.plan.question, (*run.plan.hops, *queries))
        await run.transcript.emit(run.plan.event())
        return queries

    async def _wanted(self, run: Run, findings: Sequence[Finding]) -> tuple[str, ...]:
        """What the planner wants, as long as there would be time to search for it."""
        with run.steps.step("plan", findings[-1].hop + 1):
            try:
                async with asyncio.timeout(run.deadline.remaining() - 2 * self._limits.reserve_s):
                    return await self._planner.next(run.plan.question, findings)
            except TimeoutError:
                run.notices.append("fewer_hops")
                return ()


def in_its_order(found: Found, best: float) -> Order:
    """What a search found in its own order; it can't fit the question better than the best that was judged by it."""
    return tuple(Scored(one, best * min(1.0, max(0.0, one.fused))) for one in found.passages)
