"""Checks the sentences of an answer against its sources, while the model writes on.

A sentence cites the source that supports it best, and those that the model named if they support it too. One that no
source supports by itself may rest on two: its clauses are checked, and where each is supported, it cites them all. What
says the contrary supports nothing. docs/quality.md has what each of this is worth.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citemesh.client.types import Citation, Location, Source, Span, Support
from citemesh.contract.bounds import LONGEST_CLAIM, MOST_SUPPORT
from citemesh.errors import CiteMeshError
from citemesh.text.sentences import Sentence
from gateway.query.answers.transcript import Transcript
from gateway.query.cite.clauses import clauses
from gateway.query.cite.contradiction import contradicts
from gateway.query.pack.token_vectors import SourceVectors, bounded
from gateway.query.ports import RerankerPort
from gateway.query.telemetry import tracer

log = logging.getLogger(__name__)
MOST_SENTENCES = 32


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the answer and the source numbers that the model wrote at it."""

    sentence: Sentence
    hints: frozenset[int] = frozenset()


class Checker:
    """Takes sentences as they complete and sends their citations in the same order.

    ``run`` works until ``close``; sentences that arrive during a check are checked together next.

    Args:
        per_sentence: most citations of a sentence, those that the model marked rightly aside.
        timeout_s: longest wait for one check.
        vectors: token vectors of the sources.
    """

    def __init__(
        self,
        reranker: RerankerPort,
        sources: Sequence[Source],
        transcript: Transcript,
        timeout_s: float,
        per_sentence: int = 1,
        vectors: SourceVectors | None = None,
    ) -> None:
        self._reranker = reranker
        # By place, not by number: passages of one document share a number.
        self._sources = {str(place): source for place, source in enumerate(sources)}
        self._transcript = transcript
        self._timeout_s = timeout_s
        self._per_sentence = per_sentence
        vectors = vectors or SourceVectors()
        self._passages = bounded([vectors.candidate(place, source) for place, source in self._sources.items()])
        self._claims: asyncio.Queue[Claim | None] = asyncio.Queue()
        self.failed = False
        self.seconds = 0.0

    def add(self, claim: Claim) -> None:
        """Queues a sentence; an answer's length bounds the queue."""
        self._claims.put_nowait(claim)

    def close(self) -> None:
        """No more sentences will come."""
        self._claims.put_nowait(None)

    async def run(self) -> None:
        """Checks until closed."""
        with tracer.start_as_current_span("citemesh.cite") as span:
            while batch := await self._batch():
                await self._check([claim for claim in batch if claim is not None])
                if batch[-1] is None:
                    break
            span.set_attribute("citemesh.checked", not self.failed)

    async def _batch(self) -> list[Claim | None]:
        batch = [await self._claims.get()]
        while len(batch) < MOST_SENTENCES and not self._claims.empty():
            batch.append(self._claims.get_nowait())
        return batch

    async def _check(self, claims: Sequence[Claim]) -> None:
        texts = [claim.sentence.text.strip()[:LONGEST_CLAIM] for claim in claims]
        supports = await self._supporting(texts)
        citations = [self._choose(claim, support) for claim, support in zip(claims, supports, strict=True)]
        await self._by_clause(texts, citations)
        for claim, cited in zip(claims, citations, strict=True):
            await self._transcript.cite(claim.sentence.span, cited)

    async def _by_clause(self, texts: Sequence[str], citations: list[list[Citation]]) -> None:
        """Fills in what is cited at sentences that no source supports by itself, where some support each clause."""
        parts = {at: clauses(text) for at, text in enumerate(texts) if not citations[at]}
        parts = {at: sentence_clauses for at, sentence_clauses in parts.items() if len(sentence_clauses) > 1}
        supports = iter(
            await self._supporting([part for sentence_clauses in parts.values() for part in sentence_clauses])
        )
        for at, sentence_clauses in parts.items():
            best = [self._cited(next(supports)[:1]) for _ in sentence_clauses]
            if all(best):
                citations[at] = list(
                    {
                        (citation.number, citation.location.span): citation
                        for clause_citations in best
                        for citation in clause_citations
                    }.values()
                )

    async def _supporting(self, texts: Sequence[str]) -> list[list[Support]]:
        """What supports each text, best first; a text of white space has nothing."""
        attributed = iter(await self._attribute([text for text in texts if text]))
        return [self._sound(text, next(attributed, ())) if text else [] for text in texts]

    def _sound(self, text: str, support: Iterable[Support]) -> list[Support]:
        """Of what was found for a text, what supports it, best first."""
        sound = [
            place
            for place in support
            if place.supported and place.passage_id in self._sources and not contradicts(text, self._quote(place))
        ]
        return sorted(sound, key=lambda place: -place.score)

    def _quote(self, support: Support) -> str:
        return self._sources[support.passage_id].text[support.span.start : support.span.end]

    async def _attribute(self, texts: Sequence[str]) -> Sequence[Sequence[Support]]:
        """Support for each text; nothing once the reranker failed, so that an answer doesn't wait for it twice."""
        if not texts or self.failed or not self._sources:
            return ()
        start_s = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._reranker.attribute(texts, self._passages, min(len(self._passages), MOST_SUPPORT))
        except (CiteMeshError, TimeoutError) as error:
            log.warning("sentences go unchecked: %s", error)
            self.failed = True
            return ()
        finally:
            self.seconds += asyncio.get_running_loop().time() - start_s

    def _choose(self, claim: Claim, support: Sequence[Support]) -> list[Citation]:
        """The best that support the sentence, and those that the model named if they support it too."""
        return self._cited(
            place
            for rank, place in enumerate(support)
            if rank < self._per_sentence or self._sources[place.passage_id].number in claim.hints
        )

    def _cited(self, support: Iterable[Support]) -> list[Citation]:
        citations = (cite(self._sources[place.passage_id], place.span, place.score) for place in support)
        return [citation for citation in citations if citation is not None]


def cite(source: Source, span: Span, score: float) -> Citation | None:
    """A citation of a stretch of a source's text, white space at its ends aside; None where nothing is left."""
    start, end = max(0, span.start), min(len(source.text), span.end)
    while start < end and source.text[start].isspace():
        start += 1
    while end > start and source.text[end - 1].isspace():
        end -= 1
    if start >= end:
        return None
    base = source.location.span.start
    location = Location(Span(base + start, base + end), source.location.page, source.location.headings)
    quote = source.text[start:end]
    score = min(1.0, max(0.0, score))
    return Citation(source.number, source.document_id, source.collection, location, quote, score)
