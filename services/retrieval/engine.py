"""What a retrieval engine is: it keeps documents that were cut and embedded already, and finds their chunks.

The three protocols follow the three gRPC services. Engines raise the errors of ``citemesh.errors`` and nothing that
knows of gRPC. Spans count code points of a document's extracted text. Vectors are float32 of the collection's
dimension and of length one, so that an inner product is a cosine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
Mode = Literal["hybrid", "dense", "lexical"]
Fusion = Literal["min-max", "reciprocal-rank"]
View = Literal["full", "reference"]


@dataclass(frozen=True, slots=True)
class Embedding:
    """The embedding model that a collection is fixed to; digest is the hash of all that decides its vectors."""

    model: str
    digest: str
    dimension: int


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A set of documents that are searched together."""

    name: str
    embedding: Embedding
    documents: int
    chunks: int
    created_at: datetime
    unreadable_chunks: int = 0
    """Chunks without a vector: the embedding model can't read their text."""
    index: str = "flat"
    """Kind of vector index that serves it now."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk stands: span in the text, 1-based page (0: no pages), headings from the outermost."""

    start: int
    end: int
    page: int = 0
    headings: tuple[str, ...] = ()


NOWHERE = Place(0, 0)


@dataclass(frozen=True, slots=True)
class TokenIds:
    """A text's token ids and the digest of the tokenizer that made them; both empty until they are known."""

    ids: tuple[int, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """A text's token vectors as `citemesh.models.token_vectors` packs them, and the digest of what made them."""

    packed: bytes = b""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a document as it is kept; text is exactly the document's text at its place."""

    chunk_id: str
    place: Place
    text: str
    tokens: TokenIds = TokenIds()
    token_vectors: TokenVectors = TokenVectors()


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """What is known of a document, without its text. Content hash and size are of the bytes that were sent."""

    document_id: str
    collection: str
    title: str
    uri: str
    source_type: str
    language: str
    content_sha256: str
    size_bytes: int
    characters: int
    chunks: int
    pages: int
    ingested_at: datetime
    published_at: datetime | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    table_id: str = ""
    """Id of the table that it is a row of."""


def reference(document_id: str, collection: str) -> DocumentInfo:
    """A document of which nothing but its name is known."""
    return DocumentInfo(document_id, collection, "", "", "", "", "", 0, 0, 0, 0, _NEVER)


_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document ready to be kept: vectors has shape (chunks, dimension) and the order of chunks.

    unreadable: places in chunks of those that the model can't read; their vectors mean nothing and are not kept.
    """

    info: DocumentInfo
    text: str
    chunks: Sequence[Chunk]
    vectors: Vector
    embedding: Embedding
    unreadable: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Condition:
    """What one entry of the metadata must be: one of `any_of`, a number or a text within bounds (None: no bound).

    Exactly one of the three is set. A document without the entry, or whose value is no number, doesn't pass.
    """

    key: str
    any_of: tuple[str, ...] = ()
    numbers: tuple[float | None, float | None] | None = None
    texts: tuple[str | None, str | None] | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """What a result must be; an empty field takes all. A domain with a leading "-" is denied."""

    document_ids: Sequence[str] = ()
    source_types: Sequence[str] = ()
    domains: Sequence[str] = ()
    languages: Sequence[str] = ()
    published_after: datetime | None = None
    published_before: datetime | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    conditions: Sequence[Condition] = ()

    @property
    def empty(self) -> bool:
        """Whether it takes everything."""
        return self is EVERYTHING or self == EVERYTHING


EVERYTHING = Filter()
"""The filter that all passes. Nothing writes to it."""


@dataclass(frozen=True, slots=True)
class Query:
    """One search. vector, of shape (dimension,), and what made it are None for a lexical one; top_k is 1 to 1000."""

    collection: str
    text: str
    top_k: int
    vector: Vector | None = None
    embedding: Embedding | None = None
    mode: Mode = "hybrid"
    filter: Filter = EVERYTHING
    with_token_ids: bool = False
    with_token_vectors: bool = False
    fusion: Fusion = "min-max"
    dense_weight: float | None = None
    """Share of the dense part, 0 to 1; None takes the engine's own."""
    keep_duplicates: bool = False
    token_vectors_of: int = 0
    """Chunks, from the best, that are wanted with their token vectors where these are wanted; 0: all."""
    view: View = "full"
    """A reference is a chunk of which nothing is read but its id and its document's, and whose place is NOWHERE."""

    @property
    def most_token_vectors(self) -> int:
        """Chunks, from the best, that are answered with their token vectors."""
        return (self.token_vectors_of or self.top_k) if self.with_token_vectors else 0


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A chunk that says nearly the same as one found; similarity, 0 to 1, is estimated."""

    chunk_id: str
    place: Place
    document: DocumentInfo
    similarity: float


@dataclass(frozen=True, slots=True)
class Found:
    """A chunk that a search found. A part that did not find it has no score."""

    chunk: Chunk
    document: DocumentInfo
    fused: float
    dense: float | None
    lexical: float | None
    duplicates: tuple[Duplicate, ...] = ()


@dataclass(frozen=True, slots=True)
class Results:
    """Found chunks, best first, and the number of the last committed change of the collection that they saw.

    It rises with the collection's own changes alone, and goes on rising where the collection is made anew.
    """

    found: tuple[Found, ...]
    sequence: int
    notices: tuple[str, ...] = ()
    """What a reader should know, such as why the dense part was left out."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """Ids that are gone, ids that were not there, and the number of the collection's last change."""

    deleted: tuple[str, ...]
    missing: tuple[str, ...]
    sequence: int


@dataclass(frozen=True, slots=True)
class Copied:
    """A consistent copy: where it is, the last change that it holds, and how much."""

    directory: Path
    sequence: int
    documents: int
    chunks: int


class Collections(Protocol):
    """Keeps the collections."""

    async def create(self, name: str, embedding: Embedding) -> CollectionInfo:
        """Makes a collection. Raises AlreadyExists."""

    async def collection(self, name: str) -> CollectionInfo:
        """Reads one. Raises NotFound, which names those that exist."""

    async def embedding(self, name: str) -> Embedding:
        """What a collection is fixed to; costs little, however much it holds. Raises NotFound."""

    async def collections(self, after: str, limit: int) -> tuple[CollectionInfo, ...]:
        """Lists by name, those after `after`, at most `limit`."""

    async def drop(self, name: str) -> int:
        """Deletes one with all its documents; returns the change's number. Raises NotFound."""


class Documents(Protocol):
    """Keeps documents. What `put` and `delete` return from survives a crash and is seen by the next search."""

    async def put(self, document: NewDocument) -> int:
        """Stores a document, or replaces the one of its id, whole or not at all; returns the change's number.

        In the same step it takes the place of a table of its id; a row takes the place of a document of its table's id.
        Raises NotFound for an unknown collection, PreconditionFailed for another embedding than the collection's.
        """

    async def put_many(self, documents: Sequence[NewDocument]) -> int:
        """Stores one or more documents of one collection in one step, each as `put` would after those before it.

        Returns the change's number. Raises as `put` does, and then none of them is stored.
        """

    async def document(self, collection: str, document_id: str, with_text: bool = True) -> tuple[DocumentInfo, str]:
        """Reads a document and its text, which is empty where it isn't wanted. Raises NotFound."""

    async def documents(self, collection: str, after: str, limit: int, table_id: str = "") -> tuple[DocumentInfo, ...]:
        """Lists by id, those after `after`, at most `limit`; of one table where it is named. Raises NotFound for an
        unknown collection."""

    async def delete(self, collection: str, document_ids: Sequence[str]) -> Deleted:
        """Deletes documents in one step; a table's id takes all its rows. Raises NotFound for an unknown collection."""


class Searcher(Protocol):
    """Finds chunks."""

    async def search(self, query: Query) -> Results:
        """Finds at most top_k chunks that pass the filter. Raises NotFound, PreconditionFailed."""

    async def search_many(self, queries: Sequence[Query]) -> tuple[Results, ...]:
        """Answers several searches in their order, each as `search` would. Raises as search does."""


class TokenBacklog(Protocol):
    """Chunks whose token ids are missing, or were made by another tokenizer than the one of `digest`."""

    async def without_tokens(self, digest: str, limit: int) -> tuple[Chunk, ...]:
        """Some of them, at most `limit`."""

    async def fill_tokens(self, tokens: Mapping[str, TokenIds]) -> None:
        """Stores token ids by chunk id; chunks that are gone by now are passed over."""


class Snapshots(Protocol):
    """Copies what is kept while it serves."""

    async def snapshot(self, collection: str) -> Copied:
        """Copies a collection, or all of them for an empty name. Raises NotFound, NotSupported, Unavailable."""


class Lifecycle(Protocol):
    """Start and end of an engine."""

    async def open(self) -> None:
        """Makes it ready. Raises PreconditionFailed where another process holds its store, DataLoss."""

    async def close(self) -> None:
        """Ends what runs and keeps what must be kept."""

    async def healthy(self) -> bool:
        """Whether it can answer now."""


class Engine(Collections, Documents, Searcher, TokenBacklog, Snapshots, Lifecycle, Protocol):
    """All of it: what `main` builds and the service stands on."""
