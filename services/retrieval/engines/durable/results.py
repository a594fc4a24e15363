"""What the durable engine answers: chunks of ranked numbers. All that several answers hold is read at once."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from services.retrieval.engines.durable.store.tables import chunks, tokens
from services.retrieval.engines.durable.store.tables.chunks import Kept
from services.retrieval.search import near_duplicates
from services.retrieval.search.fusion import Fused
from services.retrieval.types.chunk import Chunk, TokenIds, TokenVectors
from services.retrieval.types.query import Query
from services.retrieval.types.results import Duplicate, FoundChunk, Results


@dataclass(frozen=True, slots=True)
class ResultGroup:
    """A chunk, and numbers of its near-duplicates with their similarities."""

    first: Fused
    others: Sequence[tuple[int, float]] = ()


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """A query, what answers it, the last change that this saw, and what a reader should know."""

    query: Query
    groups: Sequence[ResultGroup]
    sequence: int
    notices: tuple[str, ...]


def results(connection: sqlite3.Connection, ranked: Sequence[RankedQuery]) -> tuple[tuple[Results, ...], bool]:
    """The answers, and whether nothing of them was gone."""
    full, named = (_numbers(one for one in ranked if one.query.view == view) for view in ("full", "reference"))
    known = chunks.read(connection, full) if full else {}
    names = chunks.references(connection, named) if named else {}
    more = _More(connection, ranked)
    answers = [_answer(one, names if one.query.view == "reference" else known, more) for one in ranked]
    return tuple(answers), len(known) == len(full) and len(names) == len(named)


def _numbers(ranked: Iterator[RankedQuery]) -> list[int]:
    """Of all chunks, each once."""
    found: dict[int, None] = {}
    for one in ranked:
        for group in one.groups:
            found[group.first.key] = None
            found.update((key, None) for key, _ in group.others[: near_duplicates.MOST_DUPLICATES])
    return list(found)


class _More:
    """Token ids and token vectors of the chunks that are wanted with them."""

    def __init__(self, connection: sqlite3.Connection, ranked: Sequence[RankedQuery]) -> None:
        ids = {key for one in ranked if one.query.with_token_ids for key in _keys(one)}
        vectors = {key for one in ranked for key in _keys(one)[: one.query.most_token_vectors]}
        self._ids: Mapping[int, TokenIds] = tokens.ids(connection, list(ids)) if ids else {}
        self._vectors: Mapping[int, TokenVectors] = tokens.vectors(connection, list(vectors)) if vectors else {}

    def of(self, query: Query, place: int, key: int, chunk: Chunk) -> Chunk:
        """The chunk at a place of an answer, with what its query wants."""
        ids = self._ids.get(key) if query.with_token_ids else None
        vectors = self._vectors.get(key) if place < query.most_token_vectors else None
        if ids is None and vectors is None:
            return chunk
        return replace(chunk, tokens=ids or chunk.tokens, token_vectors=vectors or chunk.token_vectors)


def _keys(ranked: RankedQuery) -> list[int]:
    return [group.first.key for group in ranked.groups]


def _answer(ranked: RankedQuery, known: Mapping[int, Kept], more: _More) -> Results:
    found = []
    for place, (first, others) in enumerate((group.first, group.others) for group in ranked.groups):
        if first.key in known:
            chunk, document = known[first.key]
            chunk = more.of(ranked.query, place, first.key, chunk)
            behind = tuple(_duplicates(others, known)) if others else ()
            found.append(FoundChunk(chunk, document, first.score, first.dense, first.lexical, behind))
    return Results(tuple(found), ranked.sequence, ranked.notices)


def _duplicates(others: Sequence[tuple[int, float]], known: Mapping[int, Kept]) -> Iterator[Duplicate]:
    for key, similarity in others[: near_duplicates.MOST_DUPLICATES]:
        if key in known:
            chunk, document = known[key]
            yield Duplicate(chunk.chunk_id, chunk.place, document, similarity)
