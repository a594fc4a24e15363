"""An engine in memory that behaves as the durable one: for tests, and for trials without a disk."""

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
from services.retrieval.search.modes import answering_mode, ordered
from services.retrieval.types.chunk import Chunk, TokenIds
from services.retrieval.types.collection import CollectionInfo, Embedding, StoreCopy, model_mismatch
from services.retrieval.types.document import Deletion, DocumentInfo, NewDocument
from services.retrieval.types.query import Query
from services.retrieval.types.results import DuplicateChunk, FoundChunk, Results


@dataclass(slots=True)
class _Collection:
    embedding: Embedding
    created_at: datetime
    sequence: int
    documents: dict[str, NewDocument] = field(default_factory=dict)


class FakeRetrievalEngine:
    """Exact search over Python lists; slow beyond a few thousand chunks."""

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
        collection = self._find(name)
        for document in documents:
            if collection.embedding != document.embedding:
                raise model_mismatch(name, collection.embedding, document.embedding)
        for document in documents:
            _replace(collection.documents, document)
        collection.sequence = self._change()
        return collection.sequence

    async def document(self, collection: str, document_id: str, with_text: bool = True) -> tuple[DocumentInfo, str]:
        """Reads a document and its text."""
        document = self._find(collection).documents.get(document_id)
        if document is None:
            raise NotFound("document", document_id, "ListDocuments answers the ids of a collection")
        return document.info, document.text if with_text else ""

    async def documents(self, collection: str, after: str, limit: int, table_id: str = "") -> tuple[DocumentInfo, ...]:
        """Lists documents."""
        documents = self._find(collection).documents
        infos = (documents[name].info for name in sorted(documents) if name > after)
        return tuple(info for info in infos if info.table_id == table_id or not table_id)[:limit]

    async def delete(self, collection: str, document_ids: Sequence[str]) -> Deletion:
        """Deletes documents."""
        store = self._find(collection)
        documents, names = store.documents, list(dict.fromkeys(document_ids))
        tables = {document.info.table_id for document in documents.values()} - {""}
        deleted = [name for name in names if name in documents or name in tables]
        for name in [name for name, document in documents.items() if {name, document.info.table_id} & set(deleted)]:
            del documents[name]
        if deleted:
            store.sequence = self._change()
        return Deletion(tuple(deleted), tuple(name for name in names if name not in deleted), store.sequence)

    async def search(self, query: Query) -> Results:
        """Finds chunks."""
        collection, info = self._find(query.collection), self._info(query.collection)
        mode, notices = answering_mode(query, info.chunks, info.unreadable_chunks)
        if mode != "lexical" and query.embedding is not None and query.embedding != collection.embedding:
            raise model_mismatch(query.collection, collection.embedding, query.embedding)
        rows = [row for row in _rows(collection.documents.values()) if passes(row.document.info, query.filter)]
        dense = _cosines(query, rows) if mode != "lexical" else {}
        words = _bm25(query.text, rows) if mode != "dense" else {}
        best = ordered(query, mode, dense, words, self._weights, len(rows))
        chunks = [
            FoundChunk(rows[item.key].chunk, rows[item.key].document.info, item.score, item.dense, item.lexical)
            for item in best
        ]
        folded = _folded(query, chunks, self._near_duplicate)
        answer = tuple(chunk.as_wanted(query, rank) for rank, chunk in enumerate(folded))
        return Results(answer, collection.sequence, notices)

    async def search_many(self, queries: Sequence[Query]) -> tuple[Results, ...]:
        """Finds chunks, one search after another."""
        return tuple([await self.search(query) for query in queries])

    async def without_tokens(self, digest: str, limit: int) -> tuple[Chunk, ...]:
        """Chunks that lack token ids of a tokenizer."""
        chunks = (
            row.chunk for collection in self._collections.values() for row in _rows(collection.documents.values())
        )
        return tuple(chunk for chunk in chunks if chunk.tokens.digest != digest)[:limit]

    async def fill_tokens(self, tokens: Mapping[str, TokenIds]) -> None:
        """Stores token ids."""
        for collection in self._collections.values():
            for name, document in collection.documents.items():
                chunks = [replace(c, tokens=tokens.get(c.chunk_id, c.tokens)) for c in document.chunks]
                collection.documents[name] = replace(document, chunks=chunks)

    def _change(self) -> int:
        self._sequence += 1
        return self._sequence

    def _find(self, name: str) -> _Collection:
        if name not in self._collections:
            names = ", ".join(sorted(self._collections))
            raise NotFound("collection", name, f"there are: {names}" if names else "create one first")
        return self._collections[name]

    def _info(self, name: str) -> CollectionInfo:
        collection = self._collections[name]
        documents = collection.documents.values()
        chunks = sum(len(document.chunks) for document in documents)
        unreadable = sum(len(document.unreadable) for document in documents)
        return CollectionInfo(name, collection.embedding, len(documents), chunks, collection.created_at, unreadable)


@dataclass(frozen=True, slots=True)
class _Row:
    chunk: Chunk
    document: NewDocument
    at: int


def _replace(documents: dict[str, NewDocument], new: NewDocument) -> None:
    """Stores a document in place of the one of its id, of a table of its id, or of the document of its table's id."""
    ids = {new.info.document_id, new.info.table_id}
    for name, document in list(documents.items()):
        if name in ids or document.info.table_id == new.info.document_id:
            del documents[name]
    documents[new.info.document_id] = new


def _rows(documents: Iterable[NewDocument]) -> list[_Row]:
    return [_Row(chunk, document, at) for document in documents for at, chunk in enumerate(document.chunks)]


def _folded(query: Query, chunks: Sequence[FoundChunk], threshold: float) -> tuple[FoundChunk, ...]:
    if query.keep_duplicates:
        return tuple(chunks[: query.top_k])
    signatures = [near_duplicates.signature(chunk.chunk.text) for chunk in chunks]
    groups = near_duplicates.fold(signatures, query.top_k, threshold)
    return tuple(
        replace(
            chunks[group.first],
            duplicates=tuple(
                _duplicate(chunks[at], value) for at, value in group.duplicates[: near_duplicates.MOST_DUPLICATES]
            ),
        )
        for group in groups
    )


def _duplicate(chunk: FoundChunk, similarity: float) -> DuplicateChunk:
    return DuplicateChunk(chunk.chunk.chunk_id, chunk.chunk.place, chunk.document, similarity)


def _cosines(query: Query, rows: Sequence[_Row]) -> dict[int, float]:
    if query.vector is None:
        raise ValueError("a dense search needs a vector")
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
