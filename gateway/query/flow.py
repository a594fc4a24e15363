"""One question, from end to end, as a list of steps."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress

from citemesh.client.types import AskEvent, DoneEvent, FollowUpsEvent, Question, Source, SourcesEvent
from gateway.query import telemetry
from gateway.query.answers.cache import AnswerCache
from gateway.query.answers.replay import Recorder, Replay
from gateway.query.answers.transcript import Emit, Transcript
from gateway.query.deadline import Deadline
from gateway.query.follow_up.related import Relater, RelatesByRules
from gateway.query.generate.composer import Composer
from gateway.query.history.conversation import Conversation, ThreadsPort, questions_of
from gateway.query.limits import Limits
from gateway.query.model.catalog import Models
from gateway.query.pack.packing import numbered, to_source
from gateway.query.plan.plan import first_plan, tidy
from gateway.query.plan.planner import Planner, SingleShot
from gateway.query.plan.rewriting import ByRules, Rewriter
from gateway.query.plan.standalone import Exchange, hints, standalone
from gateway.query.ports import Upstreams
from gateway.query.question import check
from gateway.query.retrieve.gathering import Gatherer
from gateway.query.retrieve.ranking import Ranker, Ranking
from gateway.query.retrieve.search import Searcher
from gateway.query.run import Run
from gateway.query.telemetry import Steps
from gateway.threads.owner import NOBODY, Owner


class Flow:
    """Answers questions over the services of the mesh."""

    def __init__(
        self,
        services: Upstreams,
        limits: Limits,
        threads: ThreadsPort | None = None,
        planner: Planner | None = None,
        rewriter: Rewriter | None = None,
        relater: Relater | None = None,
    ) -> None:
        self._rewriter = rewriter or ByRules()
        self._relater = relater or RelatesByRules()
        self._limits = limits
        self._conversation = Conversation(threads, limits.history_tokens)
        self._searcher = Searcher(services.retrieval)
        self._gatherer = Gatherer(self._searcher, Ranker(services.reranker, limits), planner or SingleShot(), limits)
        models = Models(services.generation)
        self._composer = Composer(services, limits, models)
        cache = AnswerCache(limits.cache_entries, limits.cache_bytes, limits.cache_s, time.monotonic)
        self._replay = Replay(cache, self._searcher, models, limits)

    async def ask(
        self, question: Question, deadline: Deadline, emit: Emit, waited_s: float = 0.0, owner: Owner = NOBODY
    ) -> None:
        """Sends an answer's events.

        Raises InvalidInput for a question that can't be taken, NotFound for an unknown collection or thread,
        Unavailable where search is down, DeadlineExceeded where the time ran out before there was anything to say.
        """
        check(question)
        recorder = Recorder(emit)
        run = await self._plan(question, deadline, recorder, Steps(waited_s), owner)
        if kept := await self._replay.find(run):
            await self._replay.send(run, kept)
        else:
            await self._answer(run)
        self._replay.keep(run, recorder.events, await self._done(run))

    async def _answer(self, run: Run) -> None:
        ranking = await self._gatherer.gather(run)
        if not ranking.passages:
            await self._nothing(run)
            return
        run.deadline.check("sources were ranked")
        draft = await self._composer.pack(run, ranking)
        run.sources = draft.sources
        await run.transcript.emit(SourcesEvent(draft.sources))
        await self._composer.answer(run, draft)
        await self._relate(run, ranking)

    async def search(self, question: Question, top_k: int, deadline: Deadline) -> tuple[Source, ...]:
        """The passages that Ask would find, best first, numbered."""
        plan = first_plan(tidy(question.question))
        run = Run(question, plan, deadline, Transcript(nowhere), Steps(0.0), cites=False)
        ranking = await self._gatherer.gather(run, top_k)
        return numbered([to_source(one) for one in ranking.passages[:top_k]])

    async def _plan(self, question: Question, deadline: Deadline, emit: Emit, steps: Steps, owner: Owner) -> Run:
        with steps.step("plan") as span:
            past = await self._conversation.recall(question, owner)
            asked = tidy(question.question)
            whole = await self._whole(asked, past, deadline)
            plan = first_plan(whole, hints(asked, whole, past))
            if self._limits.log_content:
                span.set_attribute("citemesh.question", plan.question)
        await emit(plan.event())
        return Run(question, plan, deadline, Transcript(emit, steps.said), steps, owner, past)

    async def _whole(self, asked: str, past: Sequence[Exchange], deadline: Deadline) -> str:
        """The question made stand-alone; by rules where another way would leave too little time for the answer."""
        try:
            async with asyncio.timeout(deadline.remaining() - 2 * self._limits.reserve_s):
                return await self._rewriter.rewrite(asked, past)
        except TimeoutError:
            return standalone(asked, past)

    async def _relate(self, run: Run, ranking: Ranking) -> None:
        """Proposes related questions where they were asked for and there are any."""
        asked = [*questions_of(run.past), run.question.question]
        most = run.question.related_questions
        if not most:
            return
        questions: tuple[str, ...] = ()
        with suppress(TimeoutError):  # the answer is there, and the caller waits for its end
            async with asyncio.timeout(run.deadline.remaining() - self._limits.reserve_s / 2):
                questions = await self._relater.relate(run.plan.question, ranking.passages, run.sources, asked, most)
        if questions:
            await run.transcript.emit(FollowUpsEvent(questions))

    async def _nothing(self, run: Run) -> None:
        """Says plainly that nothing was found; no model is asked."""
        run.finish, run.mode = "no_sources", "extractive"
        await run.transcript.emit(SourcesEvent(()))
        await run.transcript.cite(await run.transcript.say(run.say("no_sources")))

    async def _done(self, run: Run) -> DoneEvent:
        telemetry.count(run.finish, run.mode, run.usage, run.cached)
        thread_id = await self._conversation.keep(run)
        done = DoneEvent(
            finish=run.finish,
            mode=run.mode,
            usage=run.usage,
            cited=run.transcript.cited,
            timings=run.steps.timings,
            notice=run.notice,
            model=run.model,
            thread_id=thread_id,
            cached=run.cached,
            searches=run.searches,
        )
        await run.transcript.emit(done)
        return done


async def nowhere(event: AskEvent) -> None:
    """Takes an event that nobody reads."""
