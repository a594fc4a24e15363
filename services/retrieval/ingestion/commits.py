"""Stores documents, several in one commit: one commit for many costs little more than for one."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from citemesh.errors import CiteMeshError, PreconditionFailed
from services.retrieval.engine import StoredDocuments
from services.retrieval.ingestion.passage_tokens import TokenFiller
from services.retrieval.ingestion.read.parsed import IngestFault
from services.retrieval.types.document import NewDocument

MOST_DOCUMENTS = 256
MOST_BYTES = 8 * 2**20


class CommitsDocuments(Protocol):
    """Makes commits."""

    async def commit(self, documents: Sequence[NewDocument]) -> None:
        """Stores documents of one collection, all or none. Raises as the engine does."""


class Committer:
    """Makes one commit in the store, and notes which chunks still lack token ids."""

    def __init__(self, store: StoredDocuments, tokens: TokenFiller) -> None:
        self._store = store
        self._tokens = tokens

    async def commit(self, documents: Sequence[NewDocument]) -> None:
        """Stores documents of one collection, all or none. Raises IngestFault for another model's vectors."""
        try:
            await self._store.put_many(documents)
        except PreconditionFailed as error:
            if error.reason != "MODEL_MISMATCH":
                raise
            raise IngestFault("MODEL_MISMATCH", error.message, error.remedy) from None
        for document in documents:
            self._tokens.stored(document.chunks)


def groups(documents: Sequence[NewDocument]) -> Iterator[Sequence[NewDocument]]:
    """Documents of one collection in groups of one commit each: bounded, so that no other change waits for long."""
    start = size = 0
    for place, document in enumerate(documents):
        document_size = _bytes(document)
        if place > start and (place - start == MOST_DOCUMENTS or size + document_size > MOST_BYTES):
            yield documents[start:place]
            start, size = place, 0
        size += document_size
    if documents:
        yield documents[start:]


@dataclass(slots=True, eq=False)
class _PendingDocument:
    """A document that waits for its commit, and what became of it."""

    document: NewDocument
    done: bool = False
    error: CiteMeshError | IngestFault | None = None


class StreamCommits:
    """The commits of one stream: documents that wait while one is made share the next.

    Of one stream alone, since what a call may reach is looked up in the call that commits.
    """

    def __init__(self, committer: CommitsDocuments) -> None:
        self._committer = committer
        self._turn = asyncio.Lock()
        self._pending: dict[_PendingDocument, None] = {}

    async def put(self, document: NewDocument) -> None:
        """Returns once the document is stored. Raises as the engine does; a fault of another document stays its own.

        Both the lock and the queue keep the order of arrival, so a document whose turn it is and is not done is first.
        """
        pending = _PendingDocument(document)
        self._pending[pending] = None
        try:
            async with self._turn:
                if not pending.done:
                    await self._commit(self._group())
        finally:
            self._pending.pop(pending, None)
        if pending.error is not None:
            raise pending.error

    def _group(self) -> list[_PendingDocument]:
        """The first that wait, as many as go into one commit."""
        collection = next(iter(self._pending)).document.info.collection
        same = [pending for pending in self._pending if pending.document.info.collection == collection]
        first = next(groups([pending.document for pending in same]))
        return same[: len(first)]

    async def _commit(self, group: Sequence[_PendingDocument]) -> None:
        try:
            await self._committer.commit([pending.document for pending in group])
        except (CiteMeshError, IngestFault) as error:
            if len(group) > 1:
                for pending in group:
                    await self._commit([pending])
                return
            group[0].error = error
        for pending in group:
            pending.done = True
            self._pending.pop(pending, None)


def _bytes(document: NewDocument) -> int:
    """About what a document takes in the store."""
    chunks = sum(
        2 * len(chunk.text) + 4 * len(chunk.tokens.ids) + len(chunk.token_vectors.packed) for chunk in document.chunks
    )
    return len(document.text) + document.vectors.nbytes + chunks
