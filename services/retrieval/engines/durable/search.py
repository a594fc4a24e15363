"""Search of the durable engine: numbers come from the index, everything else from the store.

Several searches are answered together: the store is read once for all of their answers.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from services.retrieval.engines.durable.index.collection_indexes import CollectionIndexes
from services.retrieval.engines.durable.index.sample import VectorSample
from services.retrieval.engines.durable.index.search_threads import SearchThreads
from services.retrieval.engines.durable.results import RankedGroup, RankedQuery, results
from services.retrieval.engines.durable.store.tables import chunks, collections, words
from services.retrieval.engines.durable.store.tables import vectors as stored_vectors
from services.retrieval.engines.durable.store.tables.collections import CollectionRow
from services.retrieval.engines.durable.store.tables.postings import Postings
from services.retrieval.engines.durable.store.tables.signatures import Signatures
from services.retrieval.search import lexical, near_duplicates
from services.retrieval.search.fusion import Fused, Scores, Weights, unrelated
from services.retrieval.search.modes import answering_mode, ordered
from services.retrieval.search.near_duplicates import DuplicateGroup
from services.retrieval.types.chunk import Vector
from services.retrieval.types.query import Mode, Query
from services.retrieval.types.results import Results

_TRIES = 3
_MOST_RANKED = 65_536
_LEXICAL_DEPTH = 1000


@dataclass(frozen=True, slots=True)
class _Search:
    """A query, its collection and the chunks of that, the mode that answers it, and the last change that it sees."""

    query: Query
    row: CollectionRow
    chunks: int
    mode: Mode
    notices: tuple[str, ...]
    sequence: int


@dataclass(frozen=True, slots=True)
class _Order:
    """Chunks best first, how many each part ranked, and whether there may be more."""

    best: Sequence[Fused]
    limit: int
    more: bool


class DurableSearch:
    """Searches the store and its indexes.

    Args:
        candidates: fewest chunks that each part of a hybrid search ranks.
        near_duplicate: similarity from which chunks are folded into one.
        lexical_postings: passages that the words of a query may have together.
        threads: those that share the vectors of several searches.
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
        """Answers all from one state of the store; tries again where a change overtook it."""
        for _ in range(_TRIES):
            answers, complete = self._once(connection, queries)
            if complete:
                break
        return answers

    def _once(self, connection: sqlite3.Connection, queries: Sequence[Query]) -> tuple[tuple[Results, ...], bool]:
        """Results, and whether no chunk was deleted during the search."""
        connection.execute("BEGIN")
        try:
            searches = self._searches(connection, queries)
            limits = [self._first_limit(search) for search in searches]
            dense = self._dense(connection, searches, limits)
            orders = [
                self._order(connection, search, limit, scores)
                for search, limit, scores in zip(searches, limits, dense, strict=True)
            ]
            signatures = self._signatures(connection, searches, orders)
            ranked = [
                self._ranked(connection, search, order, signatures)
                for search, order in zip(searches, orders, strict=True)
            ]
            return results(connection, ranked)
        finally:
            connection.rollback()

    def _searches(self, connection: sqlite3.Connection, queries: Sequence[Query]) -> list[_Search]:
        states = {name: collections.state(connection, name) for name in {query.collection for query in queries}}
        searches = []
        for query in queries:
            state = states[query.collection]
            mode, notices = answering_mode(query, state.chunks, state.unreadable)
            if mode != "lexical" and query.embedding is not None:
                collections.require(state.row, query.embedding)
            sequence = min(state.changed, self._indexes.followed(state.row))
            searches.append(_Search(query, state.row, state.chunks, mode, notices, sequence))
        return searches

    def _first_limit(self, search: _Search) -> int:
        """Chunks that each part ranks at first: some more than top_k, since duplicates fold."""
        top_k = search.query.top_k
        if search.mode == "hybrid":
            return max(self._candidates, 2 * top_k)
        return top_k if search.query.keep_duplicates else top_k + top_k // 2 + 8

    def _dense(
        self, connection: sqlite3.Connection, searches: Sequence[_Search], limits: Sequence[int]
    ) -> list[dict[int, float]]:
        """Cosines for each query; one pass over the index for all of one collection and filter."""
        groups: dict[tuple[int, str], list[int]] = {}
        for at, search in enumerate(searches):
            if search.mode != "lexical":
                chunk_filter = search.query.filter
                key = search.row.id, "" if chunk_filter.empty else repr(chunk_filter)
                groups.setdefault(key, []).append(at)
        scores: list[dict[int, float]] = [{} for _ in searches]
        for places in groups.values():
            limit = max(limits[at] for at in places)
            nearest = self._nearest(connection, [searches[at] for at in places], limit)
            for at, cosines in zip(places, nearest, strict=True):
                scores[at] = cosines
        return scores

    def _nearest(
        self, connection: sqlite3.Connection, searches: Sequence[_Search], limit: int
    ) -> list[dict[int, float]]:
        """Cosines of the nearest chunks for searches of one collection and filter."""
        row, chunk_filter = searches[0].row, searches[0].query.filter
        allowed = None if chunk_filter.empty else chunks.passing(connection, row.id, chunk_filter)
        if allowed is not None and not len(allowed):
            return [{} for _ in searches]
        vectors = np.stack([search.query.vector for search in searches if search.query.vector is not None])
        index = self._indexes.of(row)
        nearest = index.search_many(vectors, limit, allowed, self._search_threads)
        if not index.lossy:
            return nearest
        return [self._exact(connection, vector, scores) for vector, scores in zip(vectors, nearest, strict=True)]

    def _exact(self, connection: sqlite3.Connection, vector: Vector, keys: Iterable[int]) -> dict[int, float]:
        """Cosines of the vectors themselves, where the index keeps only codes of them or was not search."""
        numbers_to_score = np.fromiter(keys, dtype=np.int64)
        portions = stored_vectors.read(connection, numbers_to_score, len(vector))
        return {int(n): float(s) for numbers, rows in portions for n, s in zip(numbers, rows @ vector, strict=True)}

    def _ranked(
        self, connection: sqlite3.Connection, search: _Search, order: _Order, signatures: Signatures
    ) -> RankedQuery:
        """Ranks more chunks where folding left too few, until there are enough or no more."""
        query = search.query
        while True:
            groups = self._folded(query, order, signatures)
            if len(groups) >= query.top_k or not order.more or order.limit >= _MOST_RANKED:
                return RankedQuery(query, groups, search.sequence, search.notices)
            limit = 4 * order.limit
            dense = self._nearest(connection, [search], limit)[0] if search.mode != "lexical" else {}
            order = self._order(connection, search, limit, dense)

    def _order(self, connection: sqlite3.Connection, search: _Search, limit: int, dense: Scores) -> _Order:
        lexical = self._lexical(connection, search, limit)
        best = self._fused(connection, search, limit, dense, lexical)
        return _Order(best, limit, max(len(dense), len(lexical)) >= limit)

    def _fused(
        self, connection: sqlite3.Connection, search: _Search, limit: int, dense: Scores, lexical: Scores
    ) -> Sequence[Fused]:
        """Fuses both parts. In a fusion by scores each part also scores what only the other found."""
        query, vector = search.query, search.query.vector
        if search.mode != "hybrid" or query.fusion != "min-max" or vector is None:
            best = dict(islice(lexical.items(), limit))
            return ordered(query, search.mode, dense, best, self._weights, 2 * limit)
        best = {key: score for at, (key, score) in enumerate(lexical.items()) if at < limit or key in dense}
        unscored = [key for key in best if key not in dense]
        cosines = {**dense, **self._exact(connection, vector, unscored)} if unscored else dense
        sample = self._sample.of(connection, search.row, self._indexes.of(search.row))
        return ordered(query, "hybrid", cosines, best, self._weights, 2 * limit, unrelated(sample @ vector))

    def _lexical(self, connection: sqlite3.Connection, search: _Search, limit: int) -> dict[int, float]:
        """The best by words, best first. Hybrid search looks further, for what the vectors found: that costs little."""
        if search.mode == "dense":
            return {}
        most = max(limit, _LEXICAL_DEPTH) if search.mode == "hybrid" else limit
        query, collection = search.query, search.row.id
        terms = lexical.terms(query.text)
        affordable = self._postings.affordable(connection, collection, search.chunks, terms)
        scores = words.scores(connection, collection, affordable, query.filter, most)
        if len(scores) < query.top_k and len(affordable) < len(
            terms
        ):  # too few: search by all words, if it takes longer
            scores = words.scores(connection, collection, terms, query.filter, most)
        return scores

    def _folded(self, query: Query, order: _Order, signatures: Signatures) -> list[RankedGroup]:
        """At most top_k groups of near-duplicates; compares no more chunks than needed."""
        if query.keep_duplicates:
            return [RankedGroup(item) for item in order.best[: query.top_k]]
        compared = _compared(query, order)
        groups = self._groups(compared, query.top_k, signatures)
        while len(groups) < query.top_k and len(compared) < len(order.best):
            compared = order.best[: 2 * len(compared)]
            groups = self._groups(compared, query.top_k, signatures)
        return [
            RankedGroup(compared[group.first], [(compared[at].key, similarity) for at, similarity in group.duplicates])
            for group in groups
        ]

    def _groups(self, compared: Sequence[Fused], most: int, signatures: Signatures) -> list[DuplicateGroup]:
        return near_duplicates.fold(signatures.of([item.key for item in compared]), most, self._near_duplicate)

    @staticmethod
    def _signatures(
        connection: sqlite3.Connection, searches: Sequence[_Search], orders: Sequence[_Order]
    ) -> Signatures:
        """Signatures of all that is compared at first, read at once."""
        signatures = Signatures(connection)
        pairs = zip(searches, orders, strict=True)
        signatures.of([item.key for search, order in pairs for item in _compared(search.query, order)])
        return signatures


def _compared(query: Query, order: _Order) -> Sequence[Fused]:
    """Chunks that are compared with each other at first."""
    return () if query.keep_duplicates else order.best[: query.top_k + query.top_k // 2 + 8]
