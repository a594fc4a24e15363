"""Gives cut documents their vectors and token ids. Several go together, so that the model's batches are full."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from services.retrieval.embedding.encoder import in_context
from services.retrieval.embedding.queue import EmbeddingQueue
from services.retrieval.ingestion.chunk.pieces import means, pieces, whole
from services.retrieval.ingestion.cutting import CutDocument, Cutter
from services.retrieval.ingestion.describe import said_title
from services.retrieval.ingestion.passage_tokens import TokenFiller
from services.retrieval.threads import WorkerThreads
from services.retrieval.types.chunk import PackedTokenVectors, Vector
from services.retrieval.types.document import NewDocument

_PORTION = 1024
_MOST_TOKEN_VECTORS = 8192


class Enricher:
    """Makes documents ready to be stored."""

    def __init__(self, embeddings: EmbeddingQueue, tokens: TokenFiller, cutter: Cutter, threads: WorkerThreads) -> None:
        self._embeddings = embeddings
        self._tokens = tokens
        self._cutter = cutter
        self._threads = threads

    async def enrich(self, documents: Sequence[CutDocument]) -> list[NewDocument]:
        """The documents in their order with vectors and token ids of their chunks. Raises Unavailable."""
        chunks = [chunk for document in documents for chunk in document.chunks]
        texts = [chunk.text for chunk in chunks]
        (vectors, token_vectors), tokens, unreadable = await asyncio.gather(
            self._vectors(documents, texts),
            self._tokens.encode(texts),
            self._embeddings.unreadable(texts),
        )
        ready = [
            replace(chunk, tokens=ids, token_vectors=packed)
            for chunk, ids, packed in zip(chunks, tokens, token_vectors, strict=True)
        ]
        embedding = self._embeddings.encoder.embedding
        return [
            NewDocument(
                document.info,
                document.text,
                ready[start:end],
                vectors[start:end],
                embedding,
                frozenset(place - start for place in unreadable if start <= place < end),
            )
            for document, start, end in _spans(documents)
        ]

    async def _vectors(
        self, documents: Sequence[CutDocument], texts: Sequence[str]
    ) -> tuple[Vector, list[PackedTokenVectors]]:
        """Vectors of the chunks and of their tokens. A window longer than what is read at once has no token vectors."""
        size = self._cutter.size
        parts = whole(texts)
        if size.sliding:
            parts = await self._threads.run(pieces, texts, self._embeddings.encoder, size.read_at_once)
        contexts = [
            (said_title(document.info), chunk.place.headings) for document in documents for chunk in document.chunks
        ]
        embedded = [in_context(*contexts[owner], text) for owner, text in zip(parts.owners, parts.texts, strict=True)]
        vectors, packed = await self._portions(embedded, list(map(len, parts.texts)))
        remaining = iter(packed)
        by_text = [[next(remaining) for _ in range(count)] for count in parts.counts]
        return means(vectors, parts), [
            packed_pieces[0] if len(packed_pieces) == 1 else PackedTokenVectors() for packed_pieces in by_text
        ]

    async def _portions(
        self, embedded: Sequence[str], lengths: Sequence[int]
    ) -> tuple[Vector, list[PackedTokenVectors]]:
        """As `chunks` of the queue, a portion at a time; token vectors of a book's worth of chunks are not kept.

        They are twenty times the text, and the reranker reads what comes without them.
        """
        keep = len(embedded) <= _MOST_TOKEN_VECTORS
        vectors: list[Vector] = []
        token_vectors: list[PackedTokenVectors] = []
        for start in range(0, len(embedded), _PORTION):
            end = start + _PORTION
            portion, packed = await self._embeddings.chunks(embedded[start:end], lengths[start:end])
            vectors.append(portion)
            token_vectors += packed if keep else [PackedTokenVectors()] * len(packed)
        return np.concatenate(vectors), token_vectors


def _spans(documents: Sequence[CutDocument]) -> Iterator[tuple[CutDocument, int, int]]:
    """Each document and where its chunks stand in the chunks of all."""
    start = 0
    for document in documents:
        yield document, start, start + len(document.chunks)
        start += len(document.chunks)
