"""Answers with the sources' own sentences."""

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from citemesh.client.types import Ranked, Source, Span
from citemesh.contract.bounds import LONGEST_CLAIM
from citemesh.errors import CiteMeshError
from citemesh.text.scripts import joins_without_space, written_without_spaces
from citemesh.text.sentences import split_sentences
from gateway.query.answers.transcript import Transcript
from gateway.query.cite.citations import cite
from gateway.query.generate.markers import unmarked
from gateway.query.limits import Limits
from gateway.query.model.structured import plain
from gateway.query.pack.token_vectors import SourceVectors, bounded
from gateway.query.ports import RerankerPort

log = logging.getLogger(__name__)
MOST_CANDIDATES = 40
_FURNITURE = re.compile(r"^\s*(#|\||```|---|===|!\[|<)")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a source; span in the source's text. text: as it is shown, without what looks like a marker."""

    source: Source
    span: Span
    text: str
    score: float = 0.0


class Extractor:
    """Picks the sentences that answer a question best."""

    def __init__(self, reranker: RerankerPort, limits: Limits) -> None:
        self._reranker = reranker
        self._limits = limits

    async def pick(self, question: str, sources: Sequence[Source], vectors: SourceVectors | None = None) -> list[Quote]:
        """The best sentences in an order to read: by source number, then by place."""
        quotes = candidates(sources)
        scores = await self._scores(question, quotes, vectors or SourceVectors())
        best = sorted(range(len(quotes)), key=lambda i: (-scores[i], i))[: self._limits.extract_sentences]
        return [_scored(quotes[i], scores[i]) for i in sorted(best)]

    async def _scores(self, question: str, quotes: Sequence[Quote], vectors: SourceVectors) -> list[float]:
        """Scores from 0 to 1 by the reranker, by shared words where it is down."""
        asked = bounded([vectors.candidate(str(i), it.source, it.span, it.text) for i, it in enumerate(quotes)])
        try:
            async with asyncio.timeout(self._limits.extract_s):
                ranked = await self._reranker.rerank(question, asked)
        except (CiteMeshError, TimeoutError) as error:
            log.warning("the reranker can't judge: %s", error)
            ranked = tuple(Ranked(one.id, s, s) for one in asked for s in [overlap(question, one.text)])
        scores = {one.id: one.score for one in ranked}
        return [scores.get(one.id, 0.0) for one in asked]


def candidates(sources: Sequence[Source]) -> list[Quote]:
    """Sentences of the sources that can be quoted, each once; headings and tables only where there is no other."""
    every = [
        Quote(source, sentence.span, shown)
        for source in sources
        for sentence in split_sentences(source.text)
        if (shown := _shown(sentence.text))
    ]
    told = [quote for quote in every if _tells(quote.text)] or every
    return list({quote.text: quote for quote in reversed(told)}.values())[::-1][:MOST_CANDIDATES]


def _shown(text: str) -> str:
    """A sentence as it is quoted: on one line, without control tokens, and without what looks like our markers."""
    return " ".join(unmarked(plain(text)).split())[:LONGEST_CLAIM]


def overlap(question: str, text: str) -> float:
    """Share of the question's words that a text has; for scripts without spaces, of its character pairs."""
    asked, has = _terms(question), _terms(text)
    return len(asked & has) / len(asked) if asked else 0.0


async def say(transcript: Transcript, quotes: Sequence[Quote]) -> None:
    """Sends quotes, each with its citation: a source's sentences run on, the next source starts a new line."""
    for at, quote in enumerate(quotes):
        after = quotes[at + 1] if at + 1 < len(quotes) else None
        sentence = await transcript.say(quote.text + _between(quote, after))
        citation = cite(quote.source, quote.span, quote.score)
        await transcript.cite(sentence, [citation] if citation else [])


def _between(quote: Quote, after: Quote | None) -> str:
    if after is None:
        return ""
    if after.source.number != quote.source.number:
        return "\n"
    return "" if joins_without_space(quote.text, after.text) else " "


def _tells(text: str) -> bool:
    """Whether a text is long enough to say something and is no heading, table or code."""
    wide = sum(map(written_without_spaces, text))
    return not _FURNITURE.match(text) and (wide >= 6 or len(text.split()) >= 4)


def _terms(text: str) -> set[str]:
    words = {word for word in _WORD.findall(text.lower()) if not written_without_spaces(word[0])}
    wide = [char for char in text if written_without_spaces(char)]
    return words | {one + two for one, two in pairwise(wide)}


def _scored(quote: Quote, score: float) -> Quote:
    return Quote(quote.source, quote.span, quote.text, score)
