"""Search of the Milvus engine: Milvus ranks both parts, and the versions that count are looked up afterwards."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pymilvus import MilvusClient

from services.retrieval.engines.milvus import rows
from services.retrieval.engines.milvus.filter import expression
from services.retrieval.engines.milvus.rows import Row
from services.retrieval.engines.milvus.schema import CHUNK_FIELDS, Names
from services.retrieval.engines.milvus.store import MilvusStore
from services.retrieval.search import near_duplicates
from services.retrieval.search.filters import passes
from services.retrieval.search.fusion import Weights
from services.retrieval.search.modes import answering_mode, ordered
from services.retrieval.types.chunk import PackedTokenVectors
from services.retrieval.types.query import Mode, Query
from services.retrieval.types.results import DuplicateChunk, FoundChunk, Results

_MOST_RANKED = 16_384
"""Milvus's own limit of one search."""
_TRIES = 4


@dataclass(frozen=True, slots=True)
class _Hits:
    """Hits of Milvus: rows by id, scores of each part, and whether a part found as many as its limit."""

    rows: dict[str, Row]
    dense: dict[str, float]
    lexical: dict[str, float]
    more: bool


class MilvusSearch:
    """Searches a collection. Arguments are those of the durable engine's search. All calls block."""

    def __init__(
        self,
        client: MilvusClient,
        names: Names,
        store: MilvusStore,
        weights: Weights,
        candidates: int,
        near_duplicate: float,
    ) -> None:
        self._client = client
        self._names = names
        self._store = store
        self._weights = weights
        self._candidates = candidates
        self._near_duplicate = near_duplicate

    def run(self, query: Query, chunks: int, unreadable: int, sequence: int) -> Results:
        """Searches; ranks more chunks where folding left too few, until there are enough or no more."""
        mode, notices = answering_mode(query, chunks, unreadable)
        limit = max(self._candidates, 2 * query.top_k)
        while True:
            ranked, more = self._settled(query, mode, min(limit, _MOST_RANKED))
            folded = self._folded(query, ranked)
            if len(folded) >= query.top_k or not more or limit >= _MOST_RANKED:
                best = folded[: query.top_k]
                answer = tuple(self._answered(query, rank, hit) for rank, hit in enumerate(best))
                return Results(answer, sequence, notices)
            limit *= 4

    def _settled(self, query: Query, mode: Mode, limit: int) -> tuple[list["_RankedRow"], bool]:
        """Chunks that count. Where one was replaced during the search, its new version is searched for."""
        stale_before: set[tuple[str, str]] = set()
        for _ in range(_TRIES):
            hits = self._hits(query, mode, limit)
            ranked, stale = self._counting(query, mode, hits)
            if stale <= stale_before:  # nothing new was replaced: the stale rows are leftovers
                break
            stale_before |= stale
        return ranked, hits.more

    def _hits(self, query: Query, mode: Mode, limit: int) -> _Hits:
        fields = [name for name in CHUNK_FIELDS if name != "token_ids" or query.with_token_ids]
        passing = expression(query.filter)
        rows_by_id: dict[str, Row] = {}
        parts: list[dict[str, float]] = [{}, {}]
        searches: list[tuple[int, str, Any, str]] = []
        if mode != "lexical" and query.vector is not None:
            readable = f"({passing}) and readable == true" if passing else "readable == true"
            searches.append((0, "dense", query.vector.tolist(), readable))
        if mode != "dense" and (words := rows.query_words(query.text)):
            searches.append((1, "sparse", words, passing))
        for part, field, data, filter_ in searches:
            (answer,) = self._client.search(
                self._names.chunks(query.collection), [data], anns_field=field, limit=limit, filter=filter_,
                output_fields=fields,
            )  # fmt: skip
            for hit in answer:
                rows_by_id[hit["id"]] = hit["entity"]
                # Milvus Lite gives better chunks a smaller number, below zero; a server a larger one.
                parts[part][hit["id"]] = abs(hit["distance"]) if field == "sparse" else hit["distance"]
        return _Hits(rows_by_id, parts[0], parts[1], max(map(len, parts)) >= limit)

    def _counting(self, query: Query, mode: Mode, hits: _Hits) -> tuple[list["_RankedRow"], set[tuple[str, str]]]:
        """Chunks of versions that count, best first, and the current versions of documents whose rows were stale."""
        documents = self._store.committed(query.collection, {row["document"] for row in hits.rows.values()})
        infos = {id_: rows.document_of(row) for id_, row in documents.items()}
        stale: set[tuple[str, str]] = set()
        good: list[str] = []
        for id_, row in sorted(hits.rows.items()):
            current = documents.get(row["document"])
            if current is None or current["version"] != row["version"]:
                stale.add((row["document"], current["version"] if current else ""))
            elif passes(infos[row["document"]], query.filter):
                good.append(id_)
        dense = {at: hits.dense[id_] for at, id_ in enumerate(good) if id_ in hits.dense}
        lexical = {at: hits.lexical[id_] for at, id_ in enumerate(good) if id_ in hits.lexical}
        best = ordered(query, mode, dense, lexical, self._weights, len(good))
        ranked = []
        for item in best:
            row = hits.rows[good[item.key]]
            chunk = FoundChunk(rows.chunk_of(row), infos[row["document"]], item.score, item.dense, item.lexical)
            ranked.append(_RankedRow(chunk, row))
        return ranked, stale

    def _folded(self, query: Query, ranked: Sequence["_RankedRow"]) -> list["_RankedRow"]:
        if query.keep_duplicates:
            return list(ranked[: query.top_k])
        signatures = [rows.signature_of(hit.row) for hit in ranked]
        groups = near_duplicates.fold(signatures, query.top_k, self._near_duplicate)
        return [
            replace(ranked[group.first], duplicates=tuple(
                _duplicate(ranked[at].chunk, value) for at, value in group.duplicates[:near_duplicates.MOST_DUPLICATES]
            ))
            for group in groups
        ]  # fmt: skip

    def _answered(self, query: Query, rank: int, hit: "_RankedRow") -> FoundChunk:
        answer = replace(hit.chunk, duplicates=hit.duplicates)
        if rank < query.most_token_vectors:
            answer = replace(answer, chunk=replace(answer.chunk, token_vectors=self._token_vectors(query, hit.row)))
        return answer.as_wanted(query, rank)

    def _token_vectors(self, query: Query, row: Row) -> PackedTokenVectors:
        if not row["vectors_digest"]:
            return PackedTokenVectors()
        packed = base64.b64decode(self._store.part(query.collection, row["version"], f"vectors-{int(row['at']):08}"))
        return PackedTokenVectors(packed, row["vectors_digest"] if packed else "")


@dataclass(frozen=True, slots=True)
class _RankedRow:
    """A found chunk and its row."""

    chunk: FoundChunk
    row: Row
    duplicates: tuple[DuplicateChunk, ...] = ()


def _duplicate(chunk: FoundChunk, similarity: float) -> DuplicateChunk:
    return DuplicateChunk(chunk.chunk.chunk_id, chunk.chunk.place, chunk.document, similarity)
