"""An engine in memory with the same manners as the durable one: for tests, and to try things without a disk."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from citemesh.errors import AlreadyExists, NotFound, NotSupported
from citemesh.text.index_words import index_words
from services.retrieval.search import lexical, near_duplicates
from services.retrieval.search.filters import passes
from services.retrieval.search.fusion import EVEN, Weights
from services.retrieval.search.modes import ordered, way
from services.retrieval.search.views import answered
from services.retrieval.types.chunk import Chunk, TokenIds
from services.retrieval.types.collection import CollectionInfo, Embedding, StoreCopy, model_mismatch
from services.retrieval.types.document import Deleted, DocumentInfo, NewDocument
from services.retrieval.types.query import Query
from services.retrieval.types.results import Duplicate, FoundChunk, Results


@dataclass(slots=True)
class _Collection:
    embedding: Embedding
    created_at: datetime
    sequence: int
    documents: dict[str, NewDocument] = field(default_factory=dict)


class FakeRetrievalEngine:
    """Exact search over Python lists: right, and slow beyond a few thousand chunks."""

    def __init__(self, weights: Weights = EVEN, near_duplicate: float = near_duplicates.THRESHOLD) -> None:
        self._near_duplicate = near_duplicate
        self._weights = weights
        self._collections: dict[str, _Collection] = {}
        self._sequence = 0

    async def open(self) -> None:
        """Has nothing to open."""

    async def close(self) -> None:
        """Has nothing to close."""

    async def healthy(self) -> bool:
        """Always."""
        return True

    async def create(self, name: str, embedding: Embedding) -> CollectionInfo:
        """Makes a collection."""
        if name in self._collections:
            raise AlreadyExists("collection", name)
        self._collections[name] = _Collection(embedding, datetime.now(UTC), self._change())
        return self._info(name)

    async def collection(self, name: str) -> CollectionInfo:
        """Reads a collection."""
        self._find(name)
        return self._info(name)

    async def embedding(self, name: str) -> Embedding:
        """Reads what a collection is fixed to."""
        return self._find(name).embedding

    async def collections(self, after: str, limit: int) -> tuple[CollectionInfo, ...]:
        """Lists collections."""
        return tuple(self._info(name) for name in sorted(self._collections) if name > after)[:limit]

    async def drop(self, name: str) -> int:
        """Deletes a collection."""
        self._find(name)
        del self._collections[name]
        return self._change()

    async def snapshot(self, collection: str) -> StoreCopy:
        """Has nothing on disk."""
        raise NotSupported("a snapshot of a store in memory", "use the faiss engine")

    async def put(self, document: NewDocument) -> int:
        """Stores or replaces a document."""
        return await self.put_many([document])

    async def put_many(self, documents: Sequence[NewDocument]) -> int:
        """Stores or replaces documents."""
        name = documents[0].info.collection
        kept = self._find(name)
        for document in documents:
            if kept.embedding != document.embedding:
                raise model_mismatch(name, kept.embedding, document.embedding)
        for document in documents:
            _replace(kept.documents, document)
        kept.sequence = self._change()
        return kept.sequence

    async def document(self, collection: str, document_id: str, with_text: bool = True) -> tuple[DocumentInfo, str]:
        """Reads a document and its text."""
        found = self._find(collection).documents.get(document_id)
        if found is None:
            raise NotFound("document", document_id, "ListDocuments answers the ids of a collection")
        return found.info, found.text if with_text else ""

    async def documents(self, collection: str, after: str, limit: int, table_id: str = "") -> tuple[DocumentInfo, ...]:
        """Lists documents."""
        kept = self._find(collection).documents
        infos = (kept[name].info for name in sorted(kept) if name > after)
        return tuple(info for info in infos if info.table_id == table_id or not table_id)[:limit]

    async def delete(self, collection: str, document_ids: Sequence[str]) -> Deleted:
        """Deletes documents."""
        of = self._find(collection)
        kept, asked = of.documents, list(dict.fromkeys(document_ids))
        tables = {info.table_id for info in (document.info for document in kept.values()) if info.table_id}
        deleted = [name for name in asked if name in kept or name in tables]
        for name in [name for name, document in kept.items() if {name, document.info.table_id} & set(deleted)]:
            del kept[name]
        if deleted:
            of.sequence = self._change()
        return Deleted(tuple(deleted), tuple(name for name in asked if name not in deleted), of.sequence)

    async def search(self, query: Query) -> Results:
        """Finds chunks."""
        kept, info = self._find(query.collection), self._info(query.collection)
        mode, notices = way(query, info.chunks, info.unreadable_chunks)
        if mode != "lexical" and query.embedding is not None and query.embedding != kept.embedding:
            raise model_mismatch(query.collection, kept.embedding, query.embedding)
        rows = [row for row in _rows(kept.documents.values()) if passes(row.document.info, query.filter)]
        dense = _cosines(query, rows) if mode != "lexical" else {}
        words = _bm25(query.text, rows) if mode != "dense" else {}
        best = ordered(query, mode, dense, words, self._weights, len(rows))
        found = [
            FoundChunk(rows[item.key].chunk, rows[item.key].document.info, item.score, item.dense, item.lexical)
            for item in best
        ]
        folded = _folded(query, found, self._near_duplicate)
        return Results(tuple(answered(one, at, query) for at, one in enumerate(folded)), kept.sequence, notices)

    async def search_many(self, queries: Sequence[Query]) -> tuple[Results, ...]:
        """Finds chunks, one search after another."""
        return tuple([await self.search(query) for query in queries])

    async def without_tokens(self, digest: str, limit: int) -> tuple[Chunk, ...]:
        """Chunks that lack token ids of a tokenizer."""
        chunks = (row.chunk for kept in self._collections.values() for row in _rows(kept.documents.values()))
        return tuple(chunk for chunk in chunks if chunk.tokens.digest != digest)[:limit]

    async def fill_tokens(self, tokens: Mapping[str, TokenIds]) -> None:
        """Stores token ids."""
        for kept in self._collections.values():
            for name, document in kept.documents.items():
                chunks = [replace(c, tokens=tokens.get(c.chunk_id, c.tokens)) for c in document.chunks]
                kept.documents[name] = replace(document, chunks=chunks)

    def _change(self) -> int:
        self._sequence += 1
        return self._sequence

    def _find(self, name: str) -> _Collection:
        if name not in self._collections:
            names = ", ".join(sorted(self._collections))
            raise NotFound("collection", name, f"there are: {names}" if names else "create one first")
        return self._collections[name]

    def _info(self, name: str) -> CollectionInfo:
        kept = self._collections[name]
        chunks = sum(len(document.chunks) for document in kept.documents.values())
        unreadable = sum(len(document.unreadable) for document in kept.documents.values())
        return CollectionInfo(name, kept.embedding, len(kept.documents), chunks, kept.created_at, unreadable)


@dataclass(frozen=True, slots=True)
class _Row:
    chunk: Chunk
    document: NewDocument
    at: int


def _replace(documents: dict[str, NewDocument], new: NewDocument) -> None:
    """Puts a document in the place of that of its id, or of a table of it, or of what a row's table was before."""
    named = {new.info.document_id, new.info.table_id}
    gone = [name for name, it in documents.items() if name in named or it.info.table_id == new.info.document_id]
    for name in gone:
        del documents[name]
    documents[new.info.document_id] = new


def _rows(documents: Iterable[NewDocument]) -> list[_Row]:
    return [_Row(chunk, document, at) for document in documents for at, chunk in enumerate(document.chunks)]


def _folded(query: Query, found: Sequence[FoundChunk], threshold: float) -> tuple[FoundChunk, ...]:
    if query.keep_duplicates:
        return tuple(found[: query.top_k])
    groups = near_duplicates.fold([near_duplicates.signature(it.chunk.text) for it in found], query.top_k, threshold)
    return tuple(
        replace(
            found[group.first],
            duplicates=tuple(
                _duplicate(found[at], value) for at, value in group.others[: near_duplicates.MOST_DUPLICATES]
            ),
        )
        for group in groups
    )


def _duplicate(found: FoundChunk, similarity: float) -> Duplicate:
    return Duplicate(found.chunk.chunk_id, found.chunk.place, found.document, similarity)


def _cosines(query: Query, rows: Sequence[_Row]) -> dict[int, float]:
    if query.vector is None:
        raise ValueError("a dense search brings its vector")
    return {
        key: float(row.document.vectors[row.at] @ query.vector)
        for key, row in enumerate(rows)
        if row.at not in row.document.unreadable
    }


def _bm25(query: str, rows: Sequence[_Row], k1: float = 1.2, b: float = 0.75) -> dict[int, float]:
    counts = [Counter(index_words(row.chunk.text)) for row in rows]
    average = sum(sum(count.values()) for count in counts) / max(1, len(counts)) or 1.0
    scores: defaultdict[int, float] = defaultdict(float)
    for word in lexical.query_words(query):
        holding = [key for key, count in enumerate(counts) if word in count]
        idf = math.log(1 + (len(rows) - len(holding) + 0.5) / (len(holding) + 0.5))
        for key in holding:
            times, length = counts[key][word], sum(counts[key].values())
            scores[key] += idf * times * (k1 + 1) / (times + k1 * (1 - b + b * length / average))
    return dict(scores)
