"""Answers of the durable engine: the chunks of ranked numbers. What several answers hold is read at once."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from services.retrieval.engines.durable.store.tables import chunks, tokens
from services.retrieval.engines.durable.store.tables.chunks import ChunkAndDocument
from services.retrieval.search import near_duplicates
from services.retrieval.search.fusion import Fused
from services.retrieval.types.chunk import Chunk, PackedTokenVectors, TokenIds
from services.retrieval.types.query import Query
from services.retrieval.types.results import DuplicateChunk, FoundChunk, Results


@dataclass(frozen=True, slots=True)
class RankedGroup:
    """A chunk, and numbers of its near-duplicates with their similarities."""

    first: Fused
    duplicates: Sequence[tuple[int, float]] = ()


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """A query, the chunks that answer it, the last change that these saw, and remarks for a reader."""

    query: Query
    groups: Sequence[RankedGroup]
    sequence: int
    notices: tuple[str, ...]


def results(connection: sqlite3.Connection, ranked: Sequence[RankedQuery]) -> tuple[tuple[Results, ...], bool]:
    """The answers, and whether every chunk of them was still there."""
    in_full, by_reference = (
        _numbers(query for query in ranked if query.query.view == view) for view in ("full", "reference")
    )
    full = chunks.read(connection, in_full) if in_full else {}
    references = chunks.references(connection, by_reference) if by_reference else {}
    extras = _Extras(connection, ranked)
    answers = [_answer(query, references if query.query.view == "reference" else full, extras) for query in ranked]
    return tuple(answers), len(full) == len(in_full) and len(references) == len(by_reference)


def _numbers(ranked: Iterator[RankedQuery]) -> list[int]:
    """Numbers of all chunks and of their duplicates, each once."""
    numbers: dict[int, None] = {}
    for query in ranked:
        for group in query.groups:
            numbers[group.first.key] = None
            numbers.update((key, None) for key, _ in group.duplicates[: near_duplicates.MOST_DUPLICATES])
    return list(numbers)


class _Extras:
    """Token ids and token vectors of the chunks that are wanted with them."""

    def __init__(self, connection: sqlite3.Connection, ranked: Sequence[RankedQuery]) -> None:
        ids = {key for query in ranked if query.query.with_token_ids for key in _keys(query)}
        vectors = {key for query in ranked for key in _keys(query)[: query.query.most_token_vectors]}
        self._ids: Mapping[int, TokenIds] = tokens.ids(connection, list(ids)) if ids else {}
        self._vectors: Mapping[int, PackedTokenVectors] = tokens.vectors(connection, list(vectors)) if vectors else {}

    def added(self, query: Query, rank: int, key: int, chunk: Chunk) -> Chunk:
        """The chunk at a 0-based rank of an answer, with the token ids and vectors that its query wants."""
        ids = self._ids.get(key) if query.with_token_ids else None
        vectors = self._vectors.get(key) if rank < query.most_token_vectors else None
        if ids is None and vectors is None:
            return chunk
        return replace(chunk, tokens=ids or chunk.tokens, token_vectors=vectors or chunk.token_vectors)


def _keys(ranked: RankedQuery) -> list[int]:
    return [group.first.key for group in ranked.groups]


def _answer(ranked: RankedQuery, chunks_read: Mapping[int, ChunkAndDocument], extras: _Extras) -> Results:
    answer = []
    for rank, group in enumerate(ranked.groups):
        first = group.first
        if first.key in chunks_read:
            chunk, document = chunks_read[first.key]
            chunk = extras.added(ranked.query, rank, first.key, chunk)
            duplicates = tuple(_duplicates(group.duplicates, chunks_read)) if group.duplicates else ()
            answer.append(FoundChunk(chunk, document, first.score, first.dense, first.lexical, duplicates))
    return Results(tuple(answer), ranked.sequence, ranked.notices)


def _duplicates(
    numbers: Sequence[tuple[int, float]], chunks_read: Mapping[int, ChunkAndDocument]
) -> Iterator[DuplicateChunk]:
    for key, similarity in numbers[: near_duplicates.MOST_DUPLICATES]:
        if key in chunks_read:
            chunk, document = chunks_read[key]
            yield DuplicateChunk(chunk.chunk_id, chunk.place, document, similarity)
