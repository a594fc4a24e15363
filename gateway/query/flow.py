"""One question, from end to end, as a list of steps."""

from collections.abc import Sequence

from citemesh.client.types import DoneEvent, Passage, Question, SearchEvent, Source, SourcesEvent
from gateway.query import telemetry
from gateway.query.compose import Composer
from gateway.query.context import numbered, to_source
from gateway.query.conversation import Conversation, ThreadsPort
from gateway.query.deadline import Deadline
from gateway.query.find import Ranker, Ranking
from gateway.query.limits import Limits
from gateway.query.models import Models
from gateway.query.plan import make_plan
from gateway.query.ports import Rooms
from gateway.query.question import check
from gateway.query.run import Run
from gateway.query.searching import Searcher
from gateway.query.telemetry import Steps
from gateway.query.transcript import Emit, Transcript
from gateway.threads.owner import NOBODY, Owner


class Flow:
    """Answers questions over the rooms of the mesh."""

    def __init__(self, rooms: Rooms, limits: Limits, threads: ThreadsPort | None = None) -> None:
        self._conversation = Conversation(threads, limits.history_tokens)
        self._limits = limits
        self._searcher = Searcher(rooms.retrieval)
        self._ranker = Ranker(rooms.reranker, limits)
        self._composer = Composer(rooms, limits, Models(rooms.generation))

    async def ask(
        self, question: Question, deadline: Deadline, emit: Emit, waited_s: float = 0.0, owner: Owner = NOBODY
    ) -> None:
        """Sends an answer's events.

        Raises InvalidInput for a question that can't be taken, NotFound for an unknown collection or thread,
        Unavailable where search is down, DeadlineExceeded where the time ran out before there was anything to say.
        """
        check(question)
        run = await self._plan(question, deadline, emit, Steps(waited_s), owner)
        passages = await self._retrieve(run)
        if passages:
            ranking = await self._rerank(run, passages)
            draft = await self._composer.pack(run, ranking)
            run.sources = draft.sources
            await emit(SourcesEvent(draft.sources))
            await self._composer.answer(run, draft)
        else:
            await self._nothing(run)
        await self._done(run)

    async def search(self, question: Question, top_k: int) -> tuple[Source, ...]:
        """The passages that Ask would find, best first, numbered."""
        plan = make_plan(question.question)
        found = await self._searcher.search(question, plan.hops[0], max(top_k, self._limits.candidates))
        ranking = await self._ranker.rank(plan.hops[0], found.passages)
        return numbered([to_source(one) for one in ranking.passages[:top_k]])

    async def _plan(self, question: Question, deadline: Deadline, emit: Emit, steps: Steps, owner: Owner) -> Run:
        with steps.step("plan") as span:
            past = await self._conversation.recall(question, owner)
            plan = make_plan(question.question, past)
            if self._limits.log_content:
                span.set_attribute("citemesh.question", plan.question)
        await emit(plan.event())
        return Run(question, plan, deadline, Transcript(emit, steps.said), steps, owner, past)

    async def _retrieve(self, run: Run) -> tuple[Passage, ...]:
        query = run.plan.hops[0]
        with run.steps.step("retrieve") as span:
            found = await self._searcher.search(run.question, query, self._limits.candidates)
            span.set_attribute("citemesh.found", len(found.passages))
        run.told += found.notices
        run.searches += 1
        await run.transcript.emit(SearchEvent(1, query, len(found.passages)))
        return found.passages

    async def _rerank(self, run: Run, passages: Sequence[Passage]) -> Ranking:
        run.deadline.check("sources were found")
        with run.steps.step("rerank") as span:
            ranking = await self._ranker.rank(run.plan.question, passages)
            span.set_attribute("citemesh.judged", ranking.judged)
        if not ranking.judged:
            run.notices.append("not_ranked")
        return ranking

    async def _nothing(self, run: Run) -> None:
        """Says plainly that nothing was found; no model is asked."""
        run.finish, run.mode = "no_sources", "extractive"
        await run.transcript.emit(SourcesEvent(()))
        await run.transcript.cite(await run.transcript.say(run.say("no_sources")))

    async def _done(self, run: Run) -> None:
        telemetry.count(run.finish, run.mode, run.usage)
        thread_id = await self._conversation.keep(run)
        await run.transcript.emit(
            DoneEvent(
                finish=run.finish,
                mode=run.mode,
                usage=run.usage,
                cited=run.transcript.cited,
                timings=run.steps.timings,
                notice=run.notice,
                model=run.model,
                thread_id=thread_id,
                searches=run.searches,
            )
        )
