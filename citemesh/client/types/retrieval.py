"""Values of the retrieval service."""

from collections.abc import AsyncIterable
from dataclasses import dataclass, field
from datetime import datetime

from citemesh.client.types.places import Location


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A passage that says nearly the same as another; similarity 0 to 1."""

    chunk_id: str
    document_id: str
    title: str
    uri: str
    location: Location
    similarity: float


@dataclass(frozen=True, slots=True)
class MetadataCondition:
    """What one entry of a document's metadata must be: exactly one of the three is set; None bounds nothing."""

    key: str
    any_of: tuple[str, ...] = ()
    numbers: tuple[float | None, float | None] | None = None
    texts: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """What a passage's document must be; an empty field takes all. A domain with a leading "-" is denied."""

    document_ids: tuple[str, ...] = ()
    source_types: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    published_after: datetime | None = None
    published_before: datetime | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    conditions: tuple[MetadataCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class Search:
    """A search. mode: "", "hybrid", "dense" or "lexical"; fusion: "", "min_max" or "reciprocal_rank".

    token_vectors_of: passages, from the best, that carry token vectors where `with_token_vectors` is set; 0: all.
    view: "" or "full", or "reference": a passage's ids and scores alone, which costs least.
    """

    query: str
    collection: str = ""
    top_k: int = 10
    mode: str = ""
    filter: SearchFilter = field(default_factory=SearchFilter)
    with_token_ids: bool = False
    with_token_vectors: bool = False
    fusion: str = ""
    dense_weight: float | None = None
    keep_duplicates: bool = False
    token_vectors_of: int = 0
    view: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that search found. Scores: fused orders the results; a part that didn't find it is None."""

    chunk_id: str
    document_id: str
    collection: str
    title: str
    uri: str
    location: Location
    text: str
    token_ids: tuple[int, ...]
    tokenizer_digest: str
    fused: float
    dense: float | None = None
    lexical: float | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    published_at: datetime | None = None
    token_vectors: bytes = b""
    token_vectors_digest: str = ""
    duplicates: tuple[Duplicate, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Passages, best first, the number of the last change that the search saw, and notices for the reader."""

    passages: tuple[Passage, ...]
    sequence: int
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document without its text."""

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
    metadata: dict[str, str]
    table_id: str = ""


@dataclass(frozen=True, slots=True)
class Upload:
    """A document to ingest: its bytes and its description (see DocumentHeader in the protos).

    One that doesn't fit in memory comes in parts: then data is empty, and size_bytes is the sum of their lengths, 0
    where that isn't known.
    """

    correlation_id: str
    data: bytes
    collection: str = ""
    document_id: str = ""
    title: str = ""
    uri: str = ""
    media_type: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    parts: AsyncIterable[bytes] | None = None
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """How far one document is. State: received, parsed, chunked, embedded, committed, unchanged or failed.

    rows, failed_rows: of a table, whose rows are documents; 0 for a single document.
    """

    correlation_id: str
    document_id: str
    state: str
    chunks: int
    characters: int
    error_reason: str = ""
    error_message: str = ""
    error_remedy: str = ""
    rows: int = 0
    failed_rows: int = 0
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of texts, of length one and in their order, the model that made them and the tokens that it saw."""

    vectors: tuple[tuple[float, ...], ...]
    model: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Collection:
    """A set of documents that are searched together."""

    name: str
    embedding_model: str
    dimension: int
    documents: int
    chunks: int
    unreadable_chunks: int = 0
    index: str = ""


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy of a store: its directory on the service's machine, its last change, and how much it holds."""

    directory: str
    sequence: int
    documents: int
    chunks: int
