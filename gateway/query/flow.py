"""One question, from end to end, as a list of steps."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from citemesh.client.types import (
    DoneEvent,
    Model,
    Passage,
    Question,
    Sampling,
    SearchEvent,
    Source,
    SourcesEvent,
    Usage,
)
from citemesh.errors import CiteMeshError, Overloaded
from gateway.query import extractive, telemetry
from gateway.query.citations import Checker
from gateway.query.context import Packed, Packer, numbered, to_source
from gateway.query.deadline import Deadline
from gateway.query.extractive import Extractor
from gateway.query.faults import is_rooms
from gateway.query.find import Finder, Ranking
from gateway.query.generate import STOP, Outcome, OutOfTime, Writer
from gateway.query.language import script_of
from gateway.query.limits import Limits
from gateway.query.models import Models
from gateway.query.notices import Key, notice
from gateway.query.plan import Plan, make_plan
from gateway.query.ports import Rooms
from gateway.query.question import check
from gateway.query.telemetry import Steps
from gateway.query.transcript import Emit, Transcript


@dataclass(slots=True)
class Run:
    """One question on its way."""

    question: Question
    plan: Plan
    deadline: Deadline
    transcript: Transcript
    steps: Steps
    notices: list[Key] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    finish: str = "complete"
    mode: str = "generated"
    model: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """What an answer is made of: numbered sources and, where a model can write, its prompt."""

    sources: tuple[Source, ...]
    model: Model | None = None
    packed: Packed | None = None


class Flow:
    """Answers questions over the rooms of the mesh."""

    def __init__(self, rooms: Rooms, limits: Limits) -> None:
        self._rooms = rooms
        self._limits = limits
        self._finder = Finder(rooms.retrieval, rooms.reranker, limits)
        self._packer = Packer(rooms.tokenizer, limits)
        self._models = Models(rooms.generation)
        self._extractor = Extractor(rooms.reranker, limits)

    async def ask(self, question: Question, deadline: Deadline, emit: Emit, waited_s: float = 0.0) -> None:
        """Sends an answer's events.

        Raises InvalidInput for a question that can't be taken, NotFound for an unknown collection, Unavailable
        where search is down, DeadlineExceeded where the time ran out before there was anything to say.
        """
        check(question)
        run = await self._plan(question, deadline, emit, waited_s)
        passages = await self._retrieve(run)
        if passages:
            ranking = await self._rerank(run, passages)
            draft = await self._pack(run, ranking)
            await emit(SourcesEvent(draft.sources))
            await self._answer(run, draft)
        else:
            await self._nothing(run)
        await self._done(run)

    async def search(self, question: Question, top_k: int) -> tuple[Source, ...]:
        """The passages that Ask would find, best first, numbered."""
        plan = make_plan(question)
        passages = await self._finder.search(question, plan.hops[0], max(top_k, self._limits.candidates))
        ranking = await self._finder.rank(plan.hops[0], passages)
        return numbered([to_source(one) for one in ranking.passages[:top_k]])

    async def _plan(self, question: Question, deadline: Deadline, emit: Emit, waited_s: float) -> Run:
        steps = Steps(waited_s)
        with steps.step("plan") as span:
            plan = make_plan(question)
            if self._limits.log_content:
                span.set_attribute("citemesh.question", plan.question)
        await emit(plan.event())
        return Run(question, plan, deadline, Transcript(emit, steps.said), steps)

    async def _retrieve(self, run: Run) -> tuple[Passage, ...]:
        query = run.plan.hops[0]
        with run.steps.step("retrieve") as span:
            passages = await self._finder.search(run.question, query, self._limits.candidates)
            span.set_attribute("citemesh.found", len(passages))
        await run.transcript.emit(SearchEvent(1, query, len(passages)))
        return passages

    async def _rerank(self, run: Run, passages: Sequence[Passage]) -> Ranking:
        run.deadline.check("sources were found")
        with run.steps.step("rerank") as span:
            ranking = await self._finder.rank(run.plan.question, passages)
            span.set_attribute("citemesh.judged", ranking.judged)
        if not ranking.judged:
            run.notices.append("not_ranked")
        return ranking

    async def _pack(self, run: Run, ranking: Ranking) -> Draft:
        """A prompt, or only sources where no model is going to write."""
        run.deadline.check("sources were ranked")
        with run.steps.step("pack") as span:
            if unwilling := self._unwilling(run):
                run.notices.append(unwilling)
            else:
                try:
                    draft = await self._prompt(run, ranking)
                    span.set_attribute("citemesh.prompt_tokens", len(draft.packed.ids) if draft.packed else 0)
                    return draft
                except CiteMeshError as error:
                    self._models.forget()
                    if not is_rooms(error):
                        raise
                    run.notices.append(_why(error))
        return Draft(numbered([to_source(one) for one in ranking.passages[: self._limits.sources]]))

    def _unwilling(self, run: Run) -> Key | None:
        """Why no model is even asked, where that is so."""
        if run.question.mode == "extractive":
            return "asked"
        if run.deadline.remaining() < 2 * self._limits.reserve_s:
            return "late"
        written = self._limits.scripts
        wants_any = run.question.mode == "generated" or not written
        return None if wants_any or script_of(run.plan.question) in written else "foreign"

    async def _prompt(self, run: Run, ranking: Ranking) -> Draft:
        model = await self._models.get()
        asked = run.question.max_tokens or self._limits.answer_tokens
        packed = await self._packer.pack(run.plan.question, ranking.passages, model, asked)
        if packed.shortened:
            run.notices.append("shortened")
        if packed.answer_tokens < asked:
            run.notices.append("limited")
        return Draft(packed.sources, model, packed)

    async def _answer(self, run: Run, draft: Draft) -> None:
        if draft.packed is None or draft.model is None:
            await self._extract(run, draft)
            return
        run.model = draft.model.name
        outcome = await self._write(run, draft.model, draft.packed)
        run.usage = outcome.usage
        if outcome.error is not None or not run.transcript.length:
            await self._carry_on(run, draft, outcome)
        elif outcome.finish == "length":
            run.finish = "length"
        elif outcome.finish == "loop":
            run.notices.append("looped")

    async def _write(self, run: Run, model: Model, packed: Packed) -> Outcome:
        """Generation and the check of its sentences, side by side."""
        checker = Checker(self._rooms.reranker, packed.sources, run.transcript, self._limits.cite_s)
        writer = Writer(self._rooms.generation, self._limits, run.transcript, checker)
        until = Deadline(run.deadline.at - self._limits.reserve_s)
        sampling = self._sampling(run.question, packed.answer_tokens)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(checker.run())
            with run.steps.step("generate") as span:
                span.set_attributes(telemetry.request(model.name, sampling))
                outcome = await writer.write(packed, sampling, model.name, until)
                span.set_attributes(telemetry.response(outcome.finish, outcome.usage))
            checker.close()
        if checker.failed:
            run.notices.append("not_checked")
        run.steps.wrote(outcome.first_token_s, checker.seconds)
        return outcome

    def _sampling(self, question: Question, max_tokens: int) -> Sampling:
        asked = question.temperature
        temperature = self._limits.temperature if asked is None else asked
        return Sampling(
            temperature, max_tokens=max_tokens, stop=STOP, repetition_penalty=self._limits.repetition_penalty
        )

    async def _carry_on(self, run: Run, draft: Draft, outcome: Outcome) -> None:
        """Goes on extractively after generation broke; what was written stays, behind it stands a marked break."""
        if outcome.error is not None:
            self._models.forget()
            if not is_rooms(outcome.error):
                raise outcome.error
        late = isinstance(outcome.error, OutOfTime)
        if run.transcript.length:
            run.finish = "interrupted"
            run.notices.append("interrupted_late" if late else "interrupted")
            text = f"\n\n{notice('break', run.question.question)}\n\n"
            await run.transcript.cite(await run.transcript.say(text))
            await self._quote(run, draft)
        else:
            run.notices.append("late" if late else _why(outcome.error))
            await self._extract(run, draft)

    async def _extract(self, run: Run, draft: Draft) -> None:
        run.mode, run.model = "extractive", ""
        await self._quote(run, draft)

    async def _quote(self, run: Run, draft: Draft) -> None:
        with run.steps.step("extract"):
            quotes = await self._extractor.pick(run.plan.question, draft.sources)
            await extractive.say(run.transcript, quotes)

    async def _nothing(self, run: Run) -> None:
        """Says plainly that nothing was found; no model is asked."""
        run.finish, run.mode = "no_sources", "extractive"
        await run.transcript.emit(SourcesEvent(()))
        await run.transcript.cite(await run.transcript.say(notice("no_sources", run.question.question)))

    async def _done(self, run: Run) -> None:
        told = " ".join(notice(key, run.question.question) for key in dict.fromkeys(run.notices))
        telemetry.count(run.finish, run.mode, run.usage)
        cited = run.transcript.cited
        timings = run.steps.timings
        await run.transcript.emit(DoneEvent(run.finish, run.mode, run.usage, cited, timings, told, run.model))


def _why(error: Exception | None) -> Key:
    """Why no model wrote."""
    if error is None:
        return "wrote_nothing"
    return "generation_busy" if isinstance(error, Overloaded) else "generation_down"
