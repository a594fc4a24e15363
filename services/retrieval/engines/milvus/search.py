"""How the Milvus engine searches: both parts are Milvus's own, and what counts is looked up afterwards."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pymilvus import MilvusClient

from services.retrieval.engines.milvus import rows
from services.retrieval.engines.milvus.filter import expression
from services.retrieval.engines.milvus.rows import Row
from services.retrieval.engines.milvus.schema import CHUNK_FIELDS, Names
from services.retrieval.engines.milvus.store import MilvusStore
from services.retrieval.search import near_duplicates
from services.retrieval.search.filters import passes
from services.retrieval.search.fusion import Weights
from services.retrieval.search.modes import ordered, way
from services.retrieval.search.views import answered
from services.retrieval.types.chunk import TokenVectors
from services.retrieval.types.query import Mode, Query
from services.retrieval.types.results import Duplicate, FoundChunk, Results

_MOST_RANKED = 16_384
"""Milvus's own limit of one search."""
_TRIES = 4


@dataclass(frozen=True, slots=True)
class _Hits:
    """What Milvus found: rows by id, scores of each part, and whether a part found as many as it was asked for."""

    rows: dict[str, Row]
    dense: dict[str, float]
    lexical: dict[str, float]
    more: bool


class MilvusSearch:
    """Searches a collection. Arguments as the durable engine's search has them. All calls block."""

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
        """Ranks more where too little was left, until it is enough or all was seen."""
        mode, notices = way(query, chunks, unreadable)
        limit = max(self._candidates, 2 * query.top_k)
        while True:
            ranked, more = self._settled(query, mode, min(limit, _MOST_RANKED))
            folded = self._folded(query, ranked)
            if len(folded) >= query.top_k or not more or limit >= _MOST_RANKED:
                found = tuple(self._answered(query, at, one) for at, one in enumerate(folded[: query.top_k]))
                return Results(found, sequence, notices)
            limit *= 4

    def _settled(self, query: Query, mode: Mode, limit: int) -> tuple[list["_Ranked"], bool]:
        """Chunks that count. Where one was replaced beside the search, its new version is looked for."""
        seen: set[tuple[str, str]] = set()
        for _ in range(_TRIES):
            hits = self._hits(query, mode, limit)
            found, stale = self._counting(query, mode, hits)
            if stale <= seen:  # nothing new was replaced: what is stale was left behind
                break
            seen |= stale
        return found, hits.more

    def _hits(self, query: Query, mode: Mode, limit: int) -> _Hits:
        fields = [name for name in CHUNK_FIELDS if name != "token_ids" or query.with_token_ids]
        chosen = expression(query.filter)
        found: dict[str, Row] = {}
        parts: list[dict[str, float]] = [{}, {}]
        asked = []
        if mode != "lexical" and query.vector is not None:
            readable = f"({chosen}) and readable == true" if chosen else "readable == true"
            asked.append((0, "dense", query.vector.tolist(), readable))
        if mode != "dense" and (words := rows.asked(query.text)):
            asked.append((1, "sparse", words, chosen))
        for part, field, data, filter_ in asked:
            (answer,) = self._client.search(
                self._names.chunks(query.collection), [data], anns_field=field, limit=limit, filter=filter_,
                output_fields=fields,
            )  # fmt: skip
            for hit in answer:
                found[hit["id"]] = hit["entity"]
                # Milvus Lite gives what is better a smaller number, below zero; a server a larger one.
                parts[part][hit["id"]] = abs(hit["distance"]) if field == "sparse" else hit["distance"]
        return _Hits(found, parts[0], parts[1], max(map(len, parts)) >= limit)

    def _counting(self, query: Query, mode: Mode, hits: _Hits) -> tuple[list["_Ranked"], set[tuple[str, str]]]:
        """Chunks of versions that count, best first, and the versions that count of documents found stale."""
        documents = self._store.committed(query.collection, {row["document"] for row in hits.rows.values()})
        infos = {id_: rows.document_of(row) for id_, row in documents.items()}
        stale: set[tuple[str, str]] = set()
        good: list[str] = []
        for id_, row in sorted(hits.rows.items()):
            kept = documents.get(row["document"])
            if kept is None or kept["version"] != row["version"]:
                stale.add((row["document"], kept["version"] if kept else ""))
            elif passes(infos[row["document"]], query.filter):
                good.append(id_)
        dense = {at: hits.dense[id_] for at, id_ in enumerate(good) if id_ in hits.dense}
        lexical = {at: hits.lexical[id_] for at, id_ in enumerate(good) if id_ in hits.lexical}
        best = ordered(query, mode, dense, lexical, self._weights, len(good))
        ranked = []
        for item in best:
            row = hits.rows[good[item.key]]
            found = FoundChunk(rows.chunk_of(row), infos[row["document"]], item.score, item.dense, item.lexical)
            ranked.append(_Ranked(found, row))
        return ranked, stale

    def _folded(self, query: Query, ranked: Sequence["_Ranked"]) -> list["_Ranked"]:
        if query.keep_duplicates:
            return list(ranked[: query.top_k])
        signatures = [rows.signature_of(one.row) for one in ranked]
        groups = near_duplicates.fold(signatures, query.top_k, self._near_duplicate)
        return [
            replace(ranked[group.first], duplicates=tuple(
                _duplicate(ranked[at].found, value) for at, value in group.others[:near_duplicates.MOST_DUPLICATES]
            ))
            for group in groups
        ]  # fmt: skip

    def _answered(self, query: Query, place: int, ranked: "_Ranked") -> FoundChunk:
        found = replace(ranked.found, duplicates=ranked.duplicates)
        if place < query.most_token_vectors:
            found = replace(found, chunk=replace(found.chunk, token_vectors=self._token_vectors(query, ranked.row)))
        return answered(found, place, query)

    def _token_vectors(self, query: Query, row: Row) -> TokenVectors:
        if not row["vectors_digest"]:
            return TokenVectors()
        packed = base64.b64decode(self._store.part(query.collection, row["version"], f"vectors-{int(row['at']):08}"))
        return TokenVectors(packed, row["vectors_digest"] if packed else "")


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A chunk that was found, and its row."""

    found: FoundChunk
    row: Row
    duplicates: tuple[Duplicate, ...] = ()


def _duplicate(found: FoundChunk, similarity: float) -> Duplicate:
    return Duplicate(found.chunk.chunk_id, found.chunk.place, found.document, similarity)
