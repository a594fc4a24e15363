"""Makes an answer of ranked passages: packed for the model and written by it, or quoted."""

import asyncio
from dataclasses import replace

from citemesh.client.types import Model, Question, Sampling
from citemesh.errors import CiteMeshError, Overloaded
from citemesh.text.languages import script_of_language
from citemesh.text.scripts import script_of
from gateway.query import extractive, telemetry
from gateway.query.citations import Checker
from gateway.query.context import Packed, Packer, numbered, to_source
from gateway.query.deadline import Deadline
from gateway.query.diverse import diverse
from gateway.query.extractive import Extractor
from gateway.query.faults import is_services
from gateway.query.find import Ranking
from gateway.query.generate import STOP, Outcome, OutOfTime, Writer
from gateway.query.grammar import of_markers
from gateway.query.limits import Limits
from gateway.query.models import Models
from gateway.query.notices import Key
from gateway.query.ports import Upstreams
from gateway.query.run import Draft, Run
from gateway.query.vectors import TokenVectors
from gateway.query.wording import ask_for

TIMES = {"": 1.0, "short": 0.5, "standard": 1.0, "detailed": 4.0}
"""Tokens and quoted sentences of an answer by its length, as a multiple of the gateway's own."""


class Composer:
    """Answers from passages."""

    def __init__(self, services: Upstreams, limits: Limits, models: Models) -> None:
        self._services = services
        self._limits = limits
        self._packer = Packer(services.tokenizer, limits)
        self._models = models

    async def pack(self, run: Run, ranking: Ranking) -> Draft:
        """A prompt, or only sources where no model is going to write."""
        ranking = Ranking(diverse(ranking.passages, self._limits.sources), ranking.judged)
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
                    if not is_services(error):
                        raise
                    run.notices.append(_why(error))
        best = ranking.passages[: self._limits.sources]
        return Draft(numbered([to_source(one) for one in best]), vectors=TokenVectors.of(it.passage for it in best))

    async def answer(self, run: Run, draft: Draft) -> None:
        """Writes the answer, or quotes it; what the reader should know of it is noted."""
        if draft.packed is None or draft.model is None:
            await self._extract(run, draft)
        else:
            await self._generate(run, draft, draft.model, draft.packed)
        run.notices += _form_notices(run)

    async def _generate(self, run: Run, draft: Draft, model: Model, packed: Packed) -> None:
        run.model = model.name
        outcome = await self._write(run, model, packed, draft.vectors)
        run.usage = outcome.usage
        if outcome.error is not None or not run.transcript.length:
            await self._carry_on(run, draft, outcome)
        elif outcome.finish == "length":
            run.finish = "length"
        elif outcome.finish == "loop":
            run.notices.append("looped")

    def _unwilling(self, run: Run) -> Key | None:
        """Why no model is even asked, where that is so."""
        if run.question.mode == "extractive":
            return "asked"
        if run.deadline.remaining() < 2 * self._limits.reserve_s:
            return "late"
        written = self._limits.scripts
        wants_any = run.question.mode == "generated" or not written
        return None if wants_any or script_wanted(run.question) in written else "foreign"

    async def _prompt(self, run: Run, ranking: Ranking) -> Draft:
        model = await self._models.get()
        asked = run.question.max_tokens or round(self._limits.answer_tokens * TIMES[run.question.length])
        ask = ask_for(run.question)
        packed = await self._packer.pack(run.plan.question, ranking.passages, model, asked, ask)
        if packed.shortened:
            run.notices.append("shortened")
        if packed.answer_tokens < asked:
            run.notices.append("limited")
        return Draft(packed.sources, model, packed, TokenVectors.of(it.passage for it in ranking.passages))

    async def _write(self, run: Run, model: Model, packed: Packed, vectors: TokenVectors) -> Outcome:
        """Generation and the check of its sentences, side by side."""
        checker = Checker(self._services.reranker, packed.sources, run.transcript, self._limits.cite_s, vectors=vectors)
        writer = Writer(self._services.generation, self._limits, run.transcript, checker)
        until = Deadline(run.deadline.at - self._limits.reserve_s)
        sampling = self._sampling(run.question, packed)
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

    def _sampling(self, question: Question, packed: Packed) -> Sampling:
        asked = question.temperature
        temperature = self._limits.temperature if asked is None else asked
        numbers = (source.number for source in packed.sources)
        return Sampling(
            temperature,
            max_tokens=packed.answer_tokens,
            stop=STOP,
            repetition_penalty=self._limits.repetition_penalty,
            grammar=of_markers(numbers) if self._limits.constrain_markers else "",
        )

    async def _carry_on(self, run: Run, draft: Draft, outcome: Outcome) -> None:
        """Goes on extractively after generation broke; what was written stays, behind it stands a marked break."""
        if outcome.error is not None:
            self._models.forget()
            if not is_services(outcome.error):
                raise outcome.error
        late = isinstance(outcome.error, OutOfTime)
        if run.transcript.length:
            run.finish = "interrupted"
            run.notices.append("interrupted_late" if late else "interrupted")
            await run.transcript.cite(await run.transcript.say(f"\n\n{run.say('break')}\n\n"))
            await self._quote(run, draft)
        else:
            run.notices.append("late" if late else _why(outcome.error))
            await self._extract(run, draft)

    async def _extract(self, run: Run, draft: Draft) -> None:
        run.mode, run.model = "extractive", ""
        await self._quote(run, draft)

    async def _quote(self, run: Run, draft: Draft) -> None:
        most = max(1, round(self._limits.extract_sentences * TIMES[run.question.length]))
        extractor = Extractor(self._services.reranker, replace(self._limits, extract_sentences=most))
        with run.steps.step("extract"):
            quotes = await extractor.pick(run.plan.question, draft.sources, draft.vectors)
            await extractive.say(run.transcript, quotes)


def script_wanted(question: Question) -> str:
    """The script that the answer is to be written in."""
    return script_of_language(question.answer_language) if question.answer_language else script_of(question.question)


def _form_notices(run: Run) -> list[Key]:
    """What was asked of the answer's form and isn't so, as far as can be told."""
    told: list[Key] = []
    if run.mode == "extractive" and run.question.style in ("list", "steps"):
        told.append("no_style")
    wanted = run.question.answer_language
    if wanted and script_of(run.transcript.text) != script_of_language(wanted):
        told.append("no_language")
    elif wanted and run.mode == "extractive":
        told.append("quoted_language")
    return told


def _why(error: Exception | None) -> Key:
    """Why no model wrote."""
    if error is None:
        return "wrote_nothing"
    return "generation_busy" if isinstance(error, Overloaded) else "generation_down"
