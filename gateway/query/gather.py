"""Gathers passages in as many hops as a question needs, each planned from what the ones before found."""

import asyncio
import logging
from collections.abc import Sequence

from citemesh.client.types import SearchEvent
from citemesh.errors import CiteMeshError
from gateway.query.faults import is_rooms
from gateway.query.find import Ranker, Ranking
from gateway.query.limits import Limits
from gateway.query.plan import Plan
from gateway.query.planning.planner import Finding, Planner
from gateway.query.planning.weave import woven
from gateway.query.run import Run
from gateway.query.searching import Found, Searcher

log = logging.getLogger(__name__)


class Gatherer:
    """Searches, ranks, and searches on while the planner wants more and there is time."""

    def __init__(self, searcher: Searcher, ranker: Ranker, planner: Planner, limits: Limits) -> None:
        self._searcher, self._ranker, self._planner, self._limits = searcher, ranker, planner, limits

    async def gather(self, run: Run, top_k: int = 0) -> Ranking:
        """All passages that were found, best first; none where the first search found nothing.

        Raises NotFound for an unknown collection, Unavailable where search is down, DeadlineExceeded.
        """
        loop = asyncio.get_running_loop()
        queries, hop, findings, judged = run.plan.hops, 1, list[Finding](), True
        while queries:
            started = loop.time()
            most = max(top_k, self._limits.candidates) if hop == 1 else self._limits.hop_candidates
            try:
                rankings = await self._hop(run, queries, hop, most)
            except CiteMeshError as error:
                if hop == 1 or not is_rooms(error):
                    raise
                log.warning("hop %d can't be searched: %s", hop, error)
                run.notices.append("fewer_hops")
                break
            judged = judged and all(ranking.judged for ranking in rankings)
            findings += [Finding(q, one.passages, hop) for q, one in zip(queries, rankings, strict=True)]
            queries = await self._next(run, findings, loop.time() - started)
            hop += 1
        if not judged:
            run.notices.append("not_ranked")
        return Ranking(woven(findings), judged)

    async def _hop(self, run: Run, queries: Sequence[str], hop: int, most: int) -> list[Ranking]:
        """The searches of one hop, side by side, and each one's order."""
        with run.steps.step("retrieve", hop) as span:
            found = await asyncio.gather(*(self._searcher.search(run.question, query, most) for query in queries))
            span.set_attribute("citemesh.found", sum(len(one.passages) for one in found))
        for query, one in zip(queries, found, strict=True):
            run.saw(one.sequences)
            run.told += one.notices
            await run.transcript.emit(SearchEvent(hop, query, len(one.passages)))
        return await self._rank(run, queries, hop, found)

    async def _rank(self, run: Run, queries: Sequence[str], hop: int, found: Sequence[Found]) -> list[Ranking]:
        if not any(one.passages for one in found):
            return [Ranking((), True) for _ in found]
        run.deadline.check("sources were found")
        with run.steps.step("rerank", hop) as span:
            pairs = zip(queries, found, strict=True)
            rankings = await asyncio.gather(*(self._order(query, one) for query, one in pairs))
            span.set_attribute("citemesh.judged", all(ranking.judged for ranking in rankings))
        return rankings

    async def _order(self, query: str, found: Found) -> Ranking:
        return await self._ranker.rank(query, found.passages) if found.passages else Ranking((), True)

    async def _next(self, run: Run, findings: Sequence[Finding], seconds: float) -> tuple[str, ...]:
        """The queries of the next hop, told as a new plan; none where nothing is left to ask or no time for it."""
        if not findings[0].ranked or findings[-1].hop >= (run.question.max_hops or self._limits.hops):
            return ()
        with run.steps.step("plan", findings[-1].hop + 1):
            wanted = await self._planner.next(run.plan.question, findings)
        queries = tuple(query for query in dict.fromkeys(wanted) if query not in run.plan.hops)
        if not queries:
            return ()
        if run.deadline.remaining() < 2 * self._limits.reserve_s + 2 * seconds:
            run.notices.append("fewer_hops")
            return ()
        run.plan = Plan(run.plan.question, (*run.plan.hops, *queries))
        await run.transcript.emit(run.plan.event())
        return queries
