"""How the durable engine searches: numbers come from the index, everything else from the store.

Several searches are answered together: what their answers hold is read from the store once for all of them.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from services.retrieval.engines.durable.index.collection_indexes import CollectionIndexes
from services.retrieval.engines.durable.index.sample import VectorSample
from services.retrieval.engines.durable.index.search_threads import SearchThreads
from services.retrieval.engines.durable.results import RankedQuery, ResultGroup, results
from services.retrieval.engines.durable.store.tables import chunks, collections, words
from services.retrieval.engines.durable.store.tables import vectors as stored
from services.retrieval.engines.durable.store.tables.collections import CollectionRow
from services.retrieval.engines.durable.store.tables.postings import Postings
from services.retrieval.engines.durable.store.tables.signatures import Signatures
from services.retrieval.search import lexical, near_duplicates
from services.retrieval.search.fusion import Fused, Scores, Weights, unrelated
from services.retrieval.search.modes import ordered, way
from services.retrieval.types.chunk import Vector
from services.retrieval.types.query import Mode, Query
from services.retrieval.types.results import Results

_TRIES = 3
_MOST_RANKED = 65_536
_LEXICAL_DEPTH = 1000


@dataclass(frozen=True, slots=True)
class _Asked:
    """A query, its collection and the chunks of that, the way it goes, and the last change that all of it sees."""

    query: Query
    row: CollectionRow
    chunks: int
    mode: Mode
    notices: tuple[str, ...]
    sequence: int


@dataclass(frozen=True, slots=True)
class _Order:
    """Chunks best first, of the so many that each part ranked, and whether there may be more."""

    best: Sequence[Fused]
    limit: int
    more: bool


class DurableSearch:
    """Searches the store and its indexes.

    Args:
        candidates: fewest chunks that each part of a hybrid search ranks.
        near_duplicate: similarity from which chunks are folded into one.
        lexical_postings: passages that the words of a query may have together.
        threads: those over which the vectors of several searches are shared out.
    """

    def __init__(
        self,
        indexes: CollectionIndexes,
        weights: Weights,
        candidates: int,
        near_duplicate: float,
        lexical_postings: int,
        threads: SearchThreads,
    ) -> None:
        self._near_duplicate = near_duplicate
        self._indexes = indexes
        self._sample = VectorSample()
        self._weights = weights
        self._candidates = candidates
        self._postings = Postings(lexical_postings)
        self._search_threads = threads

    def run(self, connection: sqlite3.Connection, queries: Sequence[Query]) -> tuple[Results, ...]:
        """Answers all from one state of the store; done again where a change overtook it."""
        for _ in range(_TRIES):
            results, whole = self._once(connection, queries)
            if whole:
                break
        return results

    def _once(self, connection: sqlite3.Connection, queries: Sequence[Query]) -> tuple[tuple[Results, ...], bool]:
        """Results, and whether nothing vanished under the search."""
        connection.execute("BEGIN")
        try:
            asked = self._asked(connection, queries)
            limits = [self._first_limit(one) for one in asked]
            dense = self._dense(connection, asked, limits)
            orders = [self._order(connection, *one) for one in zip(asked, limits, dense, strict=True)]
            signed = Signatures(connection)
            signed.of([it.key for one, order in zip(asked, orders, strict=True) for it in _compared(one.query, order)])
            ranked = [self._ranked(connection, *one, signed) for one in zip(asked, orders, strict=True)]
            return results(connection, ranked)
        finally:
            connection.rollback()

    def _asked(self, connection: sqlite3.Connection, queries: Sequence[Query]) -> list[_Asked]:
        states = {name: collections.state(connection, name) for name in {query.collection for query in queries}}
        asked = []
        for query in queries:
            state = states[query.collection]
            mode, notices = way(query, state.chunks, state.unreadable)
            if mode != "lexical" and query.embedding is not None:
                collections.require(state.row, query.embedding)
            sequence = min(state.changed, self._indexes.followed(state.row))
            asked.append(_Asked(query, state.row, state.chunks, mode, notices, sequence))
        return asked

    def _first_limit(self, asked: _Asked) -> int:
        """Chunks that each part ranks at first: some more than asked for, since duplicates fold."""
        top_k = asked.query.top_k
        if asked.mode == "hybrid":
            return max(self._candidates, 2 * top_k)
        return top_k if asked.query.keep_duplicates else top_k + top_k // 2 + 8

    def _dense(
        self, connection: sqlite3.Connection, asked: Sequence[_Asked], limits: Sequence[int]
    ) -> list[dict[int, float]]:
        """Cosines for each query; one pass over the index for all of one collection and filter."""
        groups: dict[tuple[int, str], list[int]] = {}
        for at, one in enumerate(asked):
            if one.mode != "lexical":
                chosen = one.query.filter
                groups.setdefault((one.row.id, "" if chosen.empty else repr(chosen)), []).append(at)
        found: list[dict[int, float]] = [{} for _ in asked]
        for places in groups.values():
            limit = max(limits[at] for at in places)
            scores = self._nearest(connection, [asked[at] for at in places], limit)
            for at, nearest in zip(places, scores, strict=True):
                found[at] = nearest
        return found

    def _nearest(self, connection: sqlite3.Connection, asked: Sequence[_Asked], limit: int) -> list[dict[int, float]]:
        row, chosen = asked[0].row, asked[0].query.filter
        allowed = None if chosen.empty else chunks.passing(connection, row.id, chosen)
        if allowed is not None and not len(allowed):
            return [{} for _ in asked]
        vectors = np.stack([one.query.vector for one in asked if one.query.vector is not None])
        index = self._indexes.of(row)
        found = index.search_many(vectors, limit, allowed, self._search_threads)
        if not index.lossy:
            return found
        return [self._exact(connection, vector, scores) for vector, scores in zip(vectors, found, strict=True)]

    def _exact(self, connection: sqlite3.Connection, vector: Vector, keys: Iterable[int]) -> dict[int, float]:
        """Cosines of the vectors themselves, where the index keeps only codes of them or was not asked."""
        wanted = np.fromiter(keys, dtype=np.int64)
        portions = stored.read(connection, wanted, len(vector))
        return {int(n): float(s) for numbers, rows in portions for n, s in zip(numbers, rows @ vector, strict=True)}

    def _ranked(self, connection: sqlite3.Connection, asked: _Asked, order: _Order, signed: Signatures) -> RankedQuery:
        """Ranks more where too little was left after folding, until it is enough or all was seen."""
        query = asked.query
        while True:
            groups = self._folded(query, order, signed)
            if len(groups) >= query.top_k or not order.more or order.limit >= _MOST_RANKED:
                return RankedQuery(query, groups, asked.sequence, asked.notices)
            limit = 4 * order.limit
            dense = self._nearest(connection, [asked], limit)[0] if asked.mode != "lexical" else {}
            order = self._order(connection, asked, limit, dense)

    def _order(self, connection: sqlite3.Connection, asked: _Asked, limit: int, dense: Scores) -> _Order:
        lexical = self._lexical(connection, asked, limit)
        best = self._fused(connection, asked, limit, dense, lexical)
        return _Order(best, limit, max(len(dense), len(lexical)) >= limit)

    def _fused(
        self, connection: sqlite3.Connection, asked: _Asked, limit: int, dense: Scores, lexical: Scores
    ) -> Sequence[Fused]:
        """What both parts found. In a fusion by scores each part also scores what only the other found."""
        query, vector = asked.query, asked.query.vector
        if asked.mode != "hybrid" or query.fusion != "min-max" or vector is None:
            best = dict(islice(lexical.items(), limit))
            return ordered(query, asked.mode, dense, best, self._weights, 2 * limit)
        best = {key: score for at, (key, score) in enumerate(lexical.items()) if at < limit or key in dense}
        others = [key for key in best if key not in dense]
        whole = {**dense, **self._exact(connection, vector, others)} if others else dense
        drawn = self._sample.of(connection, asked.row, self._indexes.of(asked.row))
        return ordered(query, "hybrid", whole, best, self._weights, 2 * limit, unrelated(drawn @ vector))

    def _lexical(self, connection: sqlite3.Connection, asked: _Asked, limit: int) -> dict[int, float]:
        """The best by words, best first. Hybrid search looks further, for what the vectors found: that costs little."""
        if asked.mode == "dense":
            return {}
        most = max(limit, _LEXICAL_DEPTH) if asked.mode == "hybrid" else limit
        query, collection = asked.query, asked.row.id
        terms = lexical.terms(query.text)
        affordable = self._postings.affordable(connection, collection, asked.chunks, terms)
        found = words.scores(connection, collection, affordable, query.filter, most)
        if len(found) < query.top_k and len(affordable) < len(terms):  # what is there is found, if it takes longer
            found = words.scores(connection, collection, terms, query.filter, most)
        return found

    def _folded(self, query: Query, order: _Order, signed: Signatures) -> list[ResultGroup]:
        """At most top_k, each with its near-duplicates; no more is looked at than has to be."""
        if query.keep_duplicates:
            return [ResultGroup(item) for item in order.best[: query.top_k]]
        seen = _compared(query, order)
        groups = near_duplicates.fold(signed.of([it.key for it in seen]), query.top_k, self._near_duplicate)
        while len(groups) < query.top_k and len(seen) < len(order.best):
            seen = order.best[: 2 * len(seen)]
            groups = near_duplicates.fold(signed.of([it.key for it in seen]), query.top_k, self._near_duplicate)
        return [
            ResultGroup(seen[it.first], [(seen[at].key, similarity) for at, similarity in it.others]) for it in groups
        ]


def _compared(query: Query, order: _Order) -> Sequence[Fused]:
    """Those that are compared with each other at first."""
    return () if query.keep_duplicates else order.best[: query.top_k + query.top_k // 2 + 8]
