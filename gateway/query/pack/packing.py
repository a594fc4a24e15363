"""Packs passages into the model's token budget, from the token ids that were stored when they were ingested."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from citemesh.client.types import Location, Model, Passage, Source, Span
from citemesh.errors import InvalidInput
from citemesh.text.sentences import split_sentences
from gateway.query.limits import Limits
from gateway.query.pack.prompt import ASK, Ids, Template, Templates
from gateway.query.ports import TokenizerPort

T = TypeVar("T")
IN_ORDER = 3
"""Passages up to which their order stays: models read what stands in the middle of a long context least."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage and how well it fits the question, 0 to 1."""

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class Packed:
    """A prompt and the numbered sources in it.

    Attributes:
        answer_tokens: tokens left for the answer, at most those asked for.
        shortened: whether the only source had to be cut at a sentence to fit.
    """

    sources: tuple[Source, ...]
    ids: Ids
    digest: str
    answer_tokens: int
    shortened: bool = False


@dataclass(frozen=True, slots=True)
class _Piece:
    """A passage as tokens, without its number."""

    source: Source
    ids: Ids


class Packer:
    """Puts prompts together."""

    def __init__(self, tokenizer: TokenizerPort, limits: Limits) -> None:
        self._tokenizer = tokenizer
        self._templates = Templates(tokenizer)
        self._limits = limits

    async def pack(
        self, question: str, scored: Sequence[Scored], model: Model, max_tokens: int, ask: str = ASK
    ) -> Packed:
        """Packs the best passages that fit; one that doesn't fit is left out, never silently cut.

        ``ask`` stands behind the question and says how to answer. Raises InvalidInput where the question alone is too
        long for the model.
        """
        template = await self._templates.get(model.tokenizer_digest, ask)
        question_ids, pieces = await self._tokens(template, question, scored)
        answer = min(max_tokens or self._limits.answer_tokens, model.max_tokens // 2)
        service = model.max_tokens - answer - template.fixed_tokens - len(question_ids)
        budget = min(service, self._limits.context_tokens)
        fitting = fit(pieces, template, budget, self._limits.sources)
        shortened = not fitting and bool(pieces)
        if shortened:
            fitting = [await self._shorten(pieces[0], template, budget, question)]
        sources = numbered([piece.source for piece in fitting])
        pairs = edges_first(list(zip(fitting, sources, strict=True)))
        ids = [token for piece, source in pairs for token in wrap(piece, template, source.number - 1)]
        return Packed(sources, template.prompt(ids, question_ids), template.digest, answer, shortened)

    async def _tokens(self, template: Template, question: str, scored: Sequence[Scored]) -> tuple[Ids, list[_Piece]]:
        """Ids of the question and of each passage under its title; only what isn't stored is encoded."""
        missing = [s.passage.text for s in scored if not _stored(s.passage, template)]
        titles = [f"{s.passage.title}\n" for s in scored]
        encoded = await self._tokenizer.encode([question, *titles, *missing], template.tokenizer)
        question_ids, headers = encoded.sequences[0], encoded.sequences[1 : len(titles) + 1]
        rest = iter(encoded.sequences[len(titles) + 1 :])
        pieces = []
        for scored_passage, header in zip(scored, headers, strict=True):
            body = scored_passage.passage.token_ids if _stored(scored_passage.passage, template) else next(rest)
            pieces.append(_Piece(to_source(scored_passage), template.plain((*header, *body))))
        return template.plain(question_ids), pieces

    async def _shorten(self, piece: _Piece, template: Template, budget: int, question: str) -> _Piece:
        """The piece with as many whole sentences from its start as fit."""
        sentences = split_sentences(piece.source.text)
        header = f"{piece.source.title}\n"
        encoded = await self._tokenizer.encode([header, *(s.text for s in sentences)], template.tokenizer)
        ids, end = list(encoded.sequences[0]), 0
        for sentence, more in zip(sentences, encoded.sequences[1:], strict=True):
            if len(ids) + len(more) + _overhead(template, 0) > budget:
                break
            ids += more
            end = sentence.span.end
        if not end:
            fault = f"is too long for the model together with a source ({len(question)} characters)"
            raise InvalidInput("question", fault, "shorten the question, or lower max_tokens")
        return _Piece(_cut(piece.source, end), template.plain(ids))


def fit(pieces: Sequence[_Piece], template: Template, budget: int, most: int) -> list[_Piece]:
    """The first pieces that fit the budget, in order; one that is too long is passed over."""
    fitting: list[_Piece] = []
    for piece in pieces:
        cost = len(piece.ids) + _overhead(template, len(fitting))
        if len(fitting) < most and cost <= budget:
            fitting.append(piece)
            budget -= cost
    return fitting


def wrap(piece: _Piece, template: Template, index: int) -> Ids:
    """A piece with its number before it and a blank line after it."""
    return (*template.numbers[index], *piece.ids, *template.newline, *template.newline)


def numbered(sources: Sequence[Source]) -> tuple[Source, ...]:
    """The sources with the numbers of their documents: from 1 in their order, the same for the same document."""
    numbers: dict[tuple[str, str], int] = {}
    for source in sources:
        numbers.setdefault((source.collection, source.document_id), len(numbers) + 1)
    return tuple(
        _with_number(unnumbered, numbers[unnumbered.collection, unnumbered.document_id]) for unnumbered in sources
    )


def documents(sources: Sequence[Source]) -> tuple[Source, ...]:
    """One source a number, in their order: the best passage of each document stands for it."""
    return tuple(
        {source.number: source for source in reversed(sources)}[n] for n in dict.fromkeys(s.number for s in sources)
    )


def to_source(scored: Scored) -> Source:
    """A passage as a source without a number yet."""
    p = scored.passage
    score = min(1.0, max(0.0, scored.score))
    return Source(0, p.chunk_id, p.document_id, p.collection, p.title, p.uri, p.location, p.text, score, p.published_at)


def _with_number(s: Source, number: int) -> Source:
    return replace(s, number=number)


def _cut(s: Source, end: int) -> Source:
    text = s.text[:end].rstrip()
    span = Span(s.location.span.start, s.location.span.start + len(text))
    location = Location(span, s.location.page, s.location.headings)
    return replace(s, location=location, text=text)


def _stored(passage: Passage, template: Template) -> bool:
    return bool(passage.token_ids) and passage.tokenizer_digest == template.digest


def _overhead(template: Template, index: int) -> int:
    return len(template.numbers[index]) + 2 * len(template.newline)


def edges_first(best_first: Sequence[T]) -> list[T]:
    """The best at the beginning, the second best at the end, and so on inwards; a few stay in their order."""
    if len(best_first) <= IN_ORDER:
        return list(best_first)
    return [*best_first[::2], *reversed(best_first[1::2])]
