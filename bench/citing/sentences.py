"""Labelled sentences, packed with what search finds beside their own passage, and cited in three ways."""

import asyncio
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.citing.labelled import Said
from bench.citing.model import Kept
from bench.citing.ways import Cited, cited
from citemesh.client.types import Passage, Sampling, Search, SearchFilter, Span
from citemesh.text.sentences import Sentence
from gateway.query.cite.citations import Claim
from gateway.query.limits import Limits
from gateway.query.pack.packing import Packer, Scored
from gateway.query.pack.prompt import Templates
from gateway.query.pack.token_vectors import SourceVectors
from gateway.query.ports import Upstreams

ASK = "\nBehind each sentence, write the number of the source that says it in square brackets, such as [2]."
QUESTION = "What do the sources say?"
SERVICE = Limits(context_tokens=4000)
"""So that three passages fit in any language: how much of a source a prompt holds isn't what is measured."""
AT_ONCE = 6
FOUND = 24
_NUMBERS = re.compile(r"\s*(\d{1,3}(?:\s*,\s*\d{1,3})*)")


@dataclass(frozen=True, slots=True)
class Judged:
    """A sentence and what each way cites at it."""

    said: Said
    ways: dict[str, Cited]

    def well_placed(self, way: str) -> bool:
        """Whether a citation of the own document overlaps a labelled place by half of both together."""
        spans = (Span(start, end) for document, start, end, _ in self.ways[way].places if document == self.said.own)
        return any(_overlap(span, place) >= 0.5 for span in spans for place in self.said.places)


class Citer:
    """Cites labelled sentences."""

    def __init__(self, services: Upstreams, model: Kept, collection: str) -> None:
        self._services = services
        self._model = model
        self._collection = collection
        self._packer = Packer(services.tokenizer, SERVICE)
        self._templates = Templates(services.tokenizer)
        self._places = asyncio.Semaphore(AT_ONCE)

    async def cite(self, said: Said, order: random.Random) -> Judged:
        """One sentence; `order` shuffles the sources, so that the right one has any number."""
        async with self._places:
            passages = await self._passages(said)
            order.shuffle(passages)
            scored = [Scored(passage, 1.0) for passage in passages]
            packed = await self._packer.pack(QUESTION, scored, self._model.model, 8, ASK)
            template = await self._templates.get(self._model.model.tokenizer_digest, ASK)
            begun = await self._services.tokenizer.encode([f"{said.text} ["], template.tokenizer)
            prompt = (*packed.ids, *template.plain(begun.sequences[0]))
            written = await self._model.write(prompt, packed.digest, Sampling(max_tokens=4, repetition_penalty=1.0))
            numbers = _NUMBERS.match(written)
            hints = frozenset(map(int, re.findall(r"\d+", numbers[1]))) if numbers else frozenset[int]()
            claim = Claim(Sentence(Span(0, len(said.text)), said.text), hints)
            vectors = SourceVectors.of(passages)
            ways = await cited([claim], packed.sources, self._services.reranker, vectors)
        return Judged(said, {way: one for way, [one] in ways.items()})

    async def _passages(self, said: Said) -> list[Passage]:
        """The own passage, and the best of as many other documents as an answer has sources."""
        search = Search(said.text, self._collection, FOUND, "hybrid", with_token_ids=True, with_token_vectors=True)
        found = (await self._services.retrieval.find(search)).passages
        alone = replace(search, filter=SearchFilter(document_ids=(said.own,)))
        own = (await self._services.retrieval.find(alone)).passages
        others = {one.document_id: one for one in reversed(found) if one.document_id != said.own}
        best = sorted(others.values(), key=lambda one: -one.fused)
        return [_of_place(own, said.places), *best[: SERVICE.sources - 1]]


def _of_place(passages: Sequence[Passage], places: Sequence[tuple[int, int]]) -> Passage:
    """The passage that holds most of a labelled place, or the best found."""
    return max(passages, key=lambda one: max((_shared(one.location.span, place) for place in places), default=0))


def _shared(span: Span, place: tuple[int, int]) -> int:
    return max(0, min(span.end, place[1]) - max(span.start, place[0]))


def _overlap(span: Span, place: tuple[int, int]) -> float:
    return _shared(span, place) / (max(span.end, place[1]) - min(span.start, place[0]))
