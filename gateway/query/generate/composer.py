"""Makes an answer of ranked passages: packed for the model and written by it, or quoted."""

import asyncio
from dataclasses import replace

from citemesh.client.types import Model, Question, Sampling
from citemesh.errors import CiteMeshError, Overloaded
from citemesh.text.languages import script_of_language
from citemesh.text.scripts import script_of
from gateway.query import telemetry
from gateway.query.answers.answered import Written
from gateway.query.answers.notices import Key
from gateway.query.answers.record import Record, text_of
from gateway.query.cite.citations import Checker
from gateway.query.deadline import Deadline
from gateway.query.generate import quoting
from gateway.query.generate.generation import STOP, GenerationOutcome, OutOfTime, Writer
from gateway.query.generate.quoting import Extractor
from gateway.query.limits import Limits
from gateway.query.model.catalog import Models
from gateway.query.model.grammar import of_markers
from gateway.query.pack.diversity import diverse
from gateway.query.pack.draft import Draft
from gateway.query.pack.packing import Packed, Packer, numbered, to_source
from gateway.query.pack.token_vectors import SourceVectors
from gateway.query.ports import Upstreams, is_service_error
from gateway.query.request import Request
from gateway.query.retrieve.ranking import Ranking
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

    async def pack(self, request: Request, record: Record, ranking: Ranking) -> Draft:
        """A prompt, or only sources where no model is going to write."""
        ranking = Ranking(diverse(ranking.passages, self._limits.sources), ranking.judged)
        with record.steps.step("pack") as span:
            if reason := self._why_quote(request):
                record.note(reason)
            else:
                try:
                    draft = await self._prompt(request, record, ranking)
                    span.set_attribute("citemesh.prompt_tokens", len(draft.packed.ids) if draft.packed else 0)
                    return draft
                except CiteMeshError as error:
                    self._models.forget()
                    if not is_service_error(error):
                        raise
                    record.note(_why(error))
        best = ranking.passages[: self._limits.sources]
        sources = numbered([to_source(scored) for scored in best])
        return Draft(sources, vectors=SourceVectors.of(scored.passage for scored in best))

    async def answer(self, request: Request, record: Record, draft: Draft) -> Written:
        """Writes the answer, or quotes it; what the reader should know of it is noted."""
        if draft.packed is None or draft.model is None:
            outcome = await self._extract(request, record, draft, Written())
        else:
            outcome = await self._generate(request, record, draft, draft.model, draft.packed)
        record.note(*_form_notices(request.question, outcome, record.transcript.text))
        return outcome

    async def _generate(self, request: Request, record: Record, draft: Draft, model: Model, packed: Packed) -> Written:
        outcome = await self._write(request, record, model, packed, draft.vectors)
        result = Written(model=model.name, usage=outcome.usage)
        if outcome.error is not None or not record.transcript.length:
            return await self._carry_on(request, record, draft, outcome, result)
        if outcome.finish == "loop":
            record.note("looped")
        return replace(result, finish="length") if outcome.finish == "length" else result

    def _why_quote(self, request: Request) -> Key | None:
        """Why no model is even asked, where that is so."""
        if request.question.mode == "extractive":
            return "asked"
        if request.deadline.remaining() < 2 * self._limits.reserve_s:
            return "late"
        scripts = self._limits.scripts
        any_script = request.question.mode == "generated" or not scripts
        return None if any_script or script_wanted(request.question) in scripts else "foreign"

    async def _prompt(self, request: Request, record: Record, ranking: Ranking) -> Draft:
        question = request.question
        model = await self._models.get()
        tokens = question.max_tokens or round(self._limits.answer_tokens * TIMES[question.length])
        packed = await self._packer.pack(request.plan.question, ranking.passages, model, tokens, ask_for(question))
        if packed.shortened:
            record.note("shortened")
        if packed.answer_tokens < tokens:
            record.note("limited")
        vectors = SourceVectors.of(scored.passage for scored in ranking.passages)
        return Draft(packed.sources, model, packed, vectors)

    async def _write(
        self, request: Request, record: Record, model: Model, packed: Packed, vectors: SourceVectors
    ) -> GenerationOutcome:
        """Generation and the check of its sentences, side by side."""
        transcript, limits = record.transcript, self._limits
        checker = Checker(self._services.reranker, packed.sources, transcript, limits.cite_s, vectors=vectors)
        writer = Writer(self._services.generation, limits, transcript, checker)
        until = Deadline(request.deadline.at - limits.reserve_s)
        sampling = self._sampling(request.question, packed)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(checker.run())
            with record.steps.step("generate") as span:
                span.set_attributes(telemetry.request(model.name, sampling))
                outcome = await writer.write(packed, sampling, model.name, until)
                span.set_attributes(telemetry.response(outcome.finish, outcome.usage))
            checker.close()
        if checker.failed:
            record.note("not_checked")
        record.steps.wrote(outcome.first_token_s, checker.seconds)
        return outcome

    def _sampling(self, question: Question, packed: Packed) -> Sampling:
        temperature = self._limits.temperature if question.temperature is None else question.temperature
        numbers = (source.number for source in packed.sources)
        return Sampling(
            temperature,
            max_tokens=packed.answer_tokens,
            stop=STOP,
            repetition_penalty=self._limits.repetition_penalty,
            grammar=of_markers(numbers) if self._limits.constrain_markers else "",
        )

    async def _carry_on(
        self, request: Request, record: Record, draft: Draft, outcome: GenerationOutcome, result: Written
    ) -> Written:
        """Goes on extractively after generation broke; the text so far stays, behind it stands a marked break."""
        if outcome.error is not None:
            self._models.forget()
            if not is_service_error(outcome.error):
                raise outcome.error
        late, transcript = isinstance(outcome.error, OutOfTime), record.transcript
        if not transcript.length:
            record.note("late" if late else _why(outcome.error))
            return await self._extract(request, record, draft, result)
        record.note("interrupted_late" if late else "interrupted")
        await transcript.cite(await transcript.say(f"\n\n{text_of('break', request.question)}\n\n"))
        await self._quote(request, record, draft)
        return replace(result, finish="interrupted")

    async def _extract(self, request: Request, record: Record, draft: Draft, result: Written) -> Written:
        await self._quote(request, record, draft)
        return replace(result, mode="extractive", model="")

    async def _quote(self, request: Request, record: Record, draft: Draft) -> None:
        most = max(1, round(self._limits.extract_sentences * TIMES[request.question.length]))
        extractor = Extractor(self._services.reranker, replace(self._limits, extract_sentences=most))
        with record.steps.step("extract"):
            quotes = await extractor.pick(request.plan.question, draft.sources, draft.vectors)
            await quoting.say(record.transcript, quotes)


def script_wanted(question: Question) -> str:
    """The script that the answer is to be written in."""
    return script_of_language(question.answer_language) if question.answer_language else script_of(question.question)


def _form_notices(question: Question, result: Written, text: str) -> list[Key]:
    """Wishes for the answer's form that it doesn't meet, as far as can be told."""
    notices: list[Key] = []
    if result.mode == "extractive" and question.style in ("list", "steps"):
        notices.append("no_style")
    language = question.answer_language
    if language and script_of(text) != script_of_language(language):
        notices.append("no_language")
    elif language and result.mode == "extractive":
        notices.append("quoted_language")
    return notices


def _why(error: Exception | None) -> Key:
    """Why no model wrote."""
    if error is None:
        return "wrote_nothing"
    return "generation_busy" if isinstance(error, Overloaded) else "generation_down"
