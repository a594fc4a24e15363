"""Gathers passages in as many searches as a question needs, each planned from what the ones before found."""

import asyncio
from collections.abc import Sequence

from citemesh.client.types import SearchEvent
from gateway.query.find import Ranker, Ranking
from gateway.query.limits import Limits
from gateway.query.plan import Plan
from gateway.query.planning.planner import Finding, Planner
from gateway.query.planning.weave import woven
from gateway.query.run import Run
from gateway.query.searching import Searcher


class Gatherer:
    """Searches, ranks, and searches on while the planner wants more and there is time."""

    def __init__(self, searcher: Searcher, ranker: Ranker, planner: Planner, limits: Limits) -> None:
        self._searcher, self._ranker, self._planner, self._limits = searcher, ranker, planner, limits

    async def gather(self, run: Run) -> Ranking:
        """All passages that were found, best first; none where the first search found nothing.

        Raises NotFound for an unknown collection, Unavailable where search is down, DeadlineExceeded.
        """
        findings: list[Finding] = []
        query: str | None = run.plan.hops[0]
        judged = True
        while query is not None:
            ranking, seconds = await self._hop(run, query, len(findings) + 1)
            judged = judged and ranking.judged
            findings.append(Finding(query, ranking.passages))
            query = await self._next(run, findings, seconds)
        if not judged:
            run.notices.append("not_ranked")
        return Ranking(woven(findings), judged)

    async def _hop(self, run: Run, query: str, hop: int) -> tuple[Ranking, float]:
        """One search and its order, and the seconds that they took."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        with run.steps.step("retrieve", hop) as span:
            found = await self._searcher.search(run.question, query, self._limits.candidates)
            span.set_attribute("citemesh.found", len(found.passages))
        run.told += found.notices
        run.saw(found.sequences)
        await run.transcript.emit(SearchEvent(hop, query, len(found.passages)))
        if not found.passages:
            return Ranking((), True), loop.time() - started
        run.deadline.check("sources were found")
        with run.steps.step("rerank", hop) as span:
            ranking = await self._ranker.rank(query, found.passages)
            span.set_attribute("citemesh.judged", ranking.judged)
        return ranking, loop.time() - started

    async def _next(self, run: Run, findings: Sequence[Finding], seconds: float) -> str | None:
        """The next query, told as a new plan; None where there is none, or no time for it."""
        if not findings[0].ranked or len(findings) >= (run.question.max_hops or self._limits.hops):
            return None
        with run.steps.step("plan", len(findings) + 1):
            query = await self._planner.next(run.plan.question, findings)
        if query is None or query in run.plan.hops:
            return None
        if run.deadline.remaining() < 2 * self._limits.reserve_s + 2 * seconds:
            run.notices.append("fewer_hops")
            return None
        run.plan = Plan(run.plan.question, (*run.plan.hops, query))
        await run.transcript.emit(run.plan.event())
        return query
