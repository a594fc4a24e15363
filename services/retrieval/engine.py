"""The contract of a retrieval engine: it stores documents that were cut and embedded before, and finds their chunks.

Each protocol is what one kind of caller needs. Engines raise the errors of ``citemesh.errors`` and know nothing of
gRPC.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from services.retrieval.types.chunk import Chunk, TokenIds
from services.retrieval.types.collection import CollectionInfo, Embedding, StoreCopy
from services.retrieval.types.document import Deletion, DocumentInfo, NewDocument
from services.retrieval.types.query import Query
from services.retrieval.types.results import Results


class StoredCollections(Protocol):
    """Collections by name."""

    async def create(self, name: str, embedding: Embedding) -> CollectionInfo:
        """Makes a collection. Raises AlreadyExists."""

    async def collection(self, name: str) -> CollectionInfo:
        """Reads a collection. Raises NotFound, which names those that exist."""

    async def embedding(self, name: str) -> Embedding:
        """Reads what a collection is fixed to, which costs little at any size. Raises NotFound."""

    async def collections(self, after: str, limit: int) -> tuple[CollectionInfo, ...]:
        """Lists by name, those after `after`, at most `limit`."""

    async def drop(self, name: str) -> int:
        """Deletes a collection with all its documents; returns the change's number. Raises NotFound."""


class StoredDocuments(Protocol):
    """Documents by collection and id. Changes that returned survive a crash and are seen by the next search."""

    async def put(self, document: NewDocument) -> int:
        """Stores a document, or replaces the one of its id, whole or not at all; returns the change's number.

        In the same step it replaces a table of its id; a row replaces a document of its table's id.
        Raises NotFound for an unknown collection, PreconditionFailed for another embedding than the collection's.
        """

    async def put_many(self, documents: Sequence[NewDocument]) -> int:
        """Stores one or more documents of one collection in one step, each as `put` would after those before it.

        Returns the change's number. Raises as `put` does, and then none of them is stored.
        """

    async def document(self, collection: str, document_id: str, with_text: bool = True) -> tuple[DocumentInfo, str]:
        """Reads a document and its text, which is empty where it isn't wanted. Raises NotFound."""

    async def documents(self, collection: str, after: str, limit: int, table_id: str = "") -> tuple[DocumentInfo, ...]:
        """Lists by id, those after `after`, at most `limit`; of one table where it is named.

        Raises NotFound for an unknown collection.
        """

    async def delete(self, collection: str, document_ids: Sequence[str]) -> Deletion:
        """Deletes documents in one step, a table's id all its rows. Raises NotFound for an unknown collection."""


class ChunkSearch(Protocol):
    """Finds chunks."""

    async def search(self, query: Query) -> Results:
        """Finds at most top_k chunks that pass the filter. Raises NotFound, PreconditionFailed."""

    async def search_many(self, queries: Sequence[Query]) -> tuple[Results, ...]:
        """Answers several searches in their order, each as `search` would. Raises as `search` does."""


class TokenBacklog(Protocol):
    """Chunks whose token ids are missing, or are of another tokenizer than the one of `digest`."""

    async def without_tokens(self, digest: str, limit: int) -> tuple[Chunk, ...]:
        """Reads some of them, at most `limit`."""

    async def fill_tokens(self, tokens: Mapping[str, TokenIds]) -> None:
        """Stores token ids by chunk id; those of deleted chunks are ignored."""


class Snapshots(Protocol):
    """Copies of the store."""

    async def snapshot(self, collection: str) -> StoreCopy:
        """Copies a collection, or all for an empty name, while the engine serves.

        Raises NotFound, NotSupported, Unavailable.
        """


class Lifecycle(Protocol):
    """Start and end of an engine."""

    async def open(self) -> None:
        """Makes it ready. Raises PreconditionFailed where another process holds its store, DataLoss."""

    async def close(self) -> None:
        """Ends background work and writes what must be kept."""

    async def healthy(self) -> bool:
        """Whether it can answer now."""


class Store(StoredCollections, StoredDocuments, Protocol):
    """Collections and their documents: what ingestion needs."""


class ServedEngine(Store, ChunkSearch, Snapshots, Protocol):
    """What calls are answered from, each within the collections that its key may reach."""


class RetrievalEngine(ServedEngine, TokenBacklog, Lifecycle, Protocol):
    """A whole engine, as `main` builds, starts and stops it."""
