"""Answers that the model writes over real search, and how each way cites the sentences that state the right answer."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from bench.citing.labelled import Asked
from bench.citing.model import Kept
from bench.citing.ways import Cited, cited, claims_of
from citemesh.client.types import Question, Sampling
from citemesh.evaluation.measures import words
from gateway.query.answers.record import Record
from gateway.query.answers.transcript import Transcript
from gateway.query.cite.citations import Claim
from gateway.query.deadline import Deadline
from gateway.query.flow import nowhere
from gateway.query.generate.generation import STOP
from gateway.query.limits import Limits
from gateway.query.model.grammar import of_markers
from gateway.query.pack.diversity import diverse
from gateway.query.pack.packing import Packer
from gateway.query.pack.prompt import ASK
from gateway.query.pack.token_vectors import SourceVectors
from gateway.query.plan.bridge import Bridge
from gateway.query.plan.plan import first_plan, tidy
from gateway.query.ports import Upstreams
from gateway.query.request import Request
from gateway.query.retrieve.gathering import Gatherer
from gateway.query.retrieve.ranking import Ranker
from gateway.query.retrieve.search import Searcher
from gateway.query.telemetry import Steps

ASK_S = 60.0
AT_ONCE = 6
MARKED = " Behind each sentence, write the number of its source in square brackets, such as [2]."


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is asked of the model, and whether the decoder holds it to markers that exist."""

    name: str
    ask: str
    held: bool = False


PROMPTS = (Prompt("as shipped", ASK), Prompt("markers asked for", ASK + MARKED))
HELD = Prompt("asked for and held", ASK + MARKED, held=True)


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence of an answer: whether it states a right answer, and what each way cites at it."""

    asked: Asked
    text: str
    states: bool
    packed: bool
    """Whether the evidence was among the sources."""
    ways: dict[str, Cited]


class Answerer:
    """Answers questions with one prompt."""

    def __init__(self, services: Upstreams, model: Kept, collection: str, limits: Limits) -> None:
        self._services, self._model, self._collection, self._limits = services, model, collection, limits
        self._gatherer = Gatherer(Searcher(services.retrieval), Ranker(services.reranker, limits), Bridge(), limits)
        self._packer = Packer(services.tokenizer, limits)
        self._places = asyncio.Semaphore(AT_ONCE)

    async def answer(self, asked: Asked, prompt: Prompt) -> list[Line]:
        """The sentences of an answer, as the gateway's flow would make them with this prompt."""
        async with self._places:
            question = Question(asked.question, self._collection)
            request = Request(question, first_plan(tidy(asked.question)), Deadline.after(ASK_S))
            gathered = await self._gatherer.gather(request, Record(Transcript(nowhere), Steps(0.0)))
            passages = diverse(gathered.ranking.passages, self._limits.sources)
            most = self._limits.answer_tokens
            packed = await self._packer.pack(request.plan.question, passages, self._model.model, most, prompt.ask)
            grammar = of_markers(source.number for source in packed.sources) if prompt.held else ""
            sampling = Sampling(
                self._limits.temperature,
                max_tokens=packed.answer_tokens,
                stop=STOP,
                repetition_penalty=self._limits.repetition_penalty,
                grammar=grammar,
            )
            claims = claims_of(await self._model.write(packed.ids, packed.digest, sampling))
            vectors = SourceVectors.of(one.passage for one in passages)
            ways = await cited(claims, packed.sources, self._services.reranker, vectors)
        held = any(source.document_id == asked.document for source in packed.sources)
        return [_line(asked, claim, held, ways, at) for at, claim in enumerate(claims)]


def _line(asked: Asked, claim: Claim, held: bool, ways: dict[str, list[Cited]], at: int) -> Line:
    text = claim.sentence.text
    return Line(asked, text, states(text, asked.answers), held, {way: each[at] for way, each in ways.items()})


def states(text: str, answers: Sequence[str]) -> bool:
    """Whether a sentence holds all words of a right answer in their order, articles and marks aside."""
    said = f" {' '.join(words(text))} "
    return any(wanted and f" {' '.join(wanted)} " in said for wanted in map(words, answers))
