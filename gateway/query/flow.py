"""One question, from end to end, as a list of steps."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress

from citemesh.client.types import AskEvent, DoneEvent, FollowUpsEvent, Question, Source, SourcesEvent
from gateway.query import telemetry
from gateway.query.answers.answered import Answered, Written
from gateway.query.answers.cache import AnswerCache
from gateway.query.answers.record import Record, text_of
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
from gateway.query.plan.rewriting import Rewriter, RuleRewriter
from gateway.query.plan.standalone import Exchange, hints, standalone
from gateway.query.ports import Upstreams
from gateway.query.request import Request
from gateway.query.retrieve.gathering import Gatherer
from gateway.query.retrieve.ranking import Ranker, Ranking
from gateway.query.retrieve.search import Searcher
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
        self._rewriter = rewriter or RuleRewriter()
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
        """Sends the events of the answer to a question that was checked.

        Raises NotFound for an unknown collection or thread, Unavailable where search is down, DeadlineExceeded where
        the time ran out before there was anything to say.
        """
        recorder, steps = Recorder(emit), Steps(waited_s)
        record = Record(Transcript(recorder, steps.said), steps)
        request = await self._plan(question, deadline, record, owner)
        if earlier := await self._replay.find(request):
            answered = await self._replay.send(record, earlier)
        else:
            answered = await self._answer(request, record)
        done = await self._done(request, record, answered)
        self._replay.keep(request, record, answered, recorder.events, done)

    async def _answer(self, request: Request, record: Record) -> Answered:
        gathered = await self._gatherer.gather(request, record)
        if not gathered.ranking.passages:
            written = await self._nothing(request, record)
            return Answered(written, (), gathered.searches, gathered.sequences)
        request.deadline.check("sources were ranked")
        draft = await self._composer.pack(request, record, gathered.ranking)
        await record.transcript.emit(SourcesEvent(draft.sources))
        written = await self._composer.answer(request, record, draft)
        await self._follow_up(request, record, gathered.ranking, draft.sources)
        return Answered(written, draft.sources, gathered.searches, gathered.sequences)

    async def search(self, question: Question, top_k: int, deadline: Deadline) -> tuple[Source, ...]:
        """The passages that Ask would find, best first, numbered."""
        request = Request(question, first_plan(tidy(question.question)), deadline, cites=False)
        gathered = await self._gatherer.gather(request, Record(Transcript(nowhere), Steps(0.0)), top_k)
        return numbered([to_source(scored) for scored in gathered.ranking.passages[:top_k]])

    async def _plan(self, question: Question, deadline: Deadline, record: Record, owner: Owner) -> Request:
        with record.steps.step("plan") as span:
            history = await self._conversation.recall(question, owner)
            asked = tidy(question.question)
            standing_alone = await self._stand_alone(asked, history, deadline)
            plan = first_plan(standing_alone, hints(asked, standing_alone, history))
            if self._limits.log_content:
                span.set_attribute("citemesh.question", plan.question)
        await record.transcript.emit(plan.event())
        return Request(question, plan, deadline, owner, history)

    async def _stand_alone(self, asked: str, history: Sequence[Exchange], deadline: Deadline) -> str:
        """The question made stand-alone; by rules where another way would leave too little time for the answer."""
        try:
            async with asyncio.timeout(deadline.remaining() - 2 * self._limits.reserve_s):
                return await self._rewriter.rewrite(asked, history)
        except TimeoutError:
            return standalone(asked, history)

    async def _follow_up(self, request: Request, record: Record, ranking: Ranking, sources: tuple[Source, ...]) -> None:
        """Proposes related questions where they are wanted and there are any."""
        most = request.question.related_questions
        if not most:
            return
        earlier = [*questions_of(request.history), request.question.question]
        questions: tuple[str, ...] = ()
        with suppress(TimeoutError):  # the answer is there, and the caller waits for its end
            async with asyncio.timeout(request.deadline.remaining() - self._limits.reserve_s / 2):
                questions = await self._relater.relate(request.plan.question, ranking.passages, sources, earlier, most)
        if questions:
            await record.transcript.emit(FollowUpsEvent(questions))

    async def _nothing(self, request: Request, record: Record) -> Written:
        """Says plainly that nothing was found; no model is asked."""
        transcript = record.transcript
        await transcript.emit(SourcesEvent(()))
        await transcript.cite(await transcript.say(text_of("no_sources", request.question)))
        return Written(finish="no_sources", mode="extractive")

    async def _done(self, request: Request, record: Record, answered: Answered) -> DoneEvent:
        written = answered.written
        telemetry.count(written.finish, written.mode, written.usage, answered.cached)
        thread_id = await self._conversation.keep(request, record, answered.sources)
        done = DoneEvent(
            finish=written.finish,
            mode=written.mode,
            usage=written.usage,
            cited=record.transcript.cited,
            timings=record.steps.timings,
            notice=record.notice(request.question, answered.earlier_notice),
            model=written.model,
            thread_id=thread_id,
            cached=answered.cached,
            searches=answered.searches,
        )
        await record.transcript.emit(done)
        return done


async def nowhere(event: AskEvent) -> None:
    """Takes an event that nobody reads."""
