"""What the rooms say to each other, as plain values: the client room turns them into messages and back."""

from collections.abc import AsyncIterable
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text in code points: start inclusive, end exclusive."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a document: span in its extracted text, 1-based page (0: no pages), headings outermost first."""

    span: Span
    page: int = 0
    headings: tuple[str, ...] = ()


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
    """What one entry of a document's metadata must be; exactly one of the three is set, None bounds nothing."""

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
    """A search. mode: "", "hybrid", "dense" or "lexical"; fusion: "", "min_max" or "reciprocal_rank"."""

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
    """Passages, best first, the number of the last change that the search saw, and what a reader should know."""

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
    """A document to ingest: its bytes and what the sender knows of it (see DocumentHeader in the protos).

    One that isn't to be held in memory comes in parts: then data is empty, and size_bytes says how long they are in
    all, 0 where that isn't known.
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


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    """A loaded tokenizer; digest is the SHA-256 of its definition in hex, max_tokens 0 where unknown."""

    name: str
    digest: str
    vocabulary_size: int
    max_tokens: int
    has_chat_template: bool


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of texts, in their order, and the digest of the tokenizer that made them."""

    sequences: tuple[tuple[int, ...], ...]
    tokenizer: str
    digest: str


@dataclass(frozen=True, slots=True)
class Chat:
    """A rendered conversation: the prompt as text and as token ids."""

    text: str
    ids: tuple[int, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Model:
    """A loaded language model."""

    name: str
    max_tokens: int
    tokenizer_digest: str
    engine: str
    running_requests: int
    waiting_requests: int


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to choose the next token; zeros take the service's defaults."""

    temperature: float = 0.0
    top_p: float = 0.0
    max_tokens: int = 0
    stop: tuple[str, ...] = ()
    seed: int | None = None
    repetition_penalty: float = 0.0
    json_schema: str = ""
    grammar: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that one generation used."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Delta:
    """Next part of what the model writes. finish: "", "stop", "length" or "abort"; usage comes with the finish."""

    text: str
    token_ids: tuple[int, ...] = ()
    finish: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage to judge; ids are the caller's."""

    id: str
    text: str
    retrieval_score: float | None = None
    token_vectors: bytes = b""
    token_vectors_digest: str = ""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A judged passage, scores higher is better."""

    id: str
    score: float
    model_score: float


@dataclass(frozen=True, slots=True)
class Judge:
    """The reranker's model: its share in the order, 0 to 1, and the hash of the token vectors that it can use."""

    name: str
    order_share: float
    token_vectors_digest: str = ""


@dataclass(frozen=True, slots=True)
class Support:
    """One passage's support of a sentence: span in the passage's text, score 0 to 1."""

    passage_id: str
    score: float
    span: Span
    supported: bool


@dataclass(frozen=True, slots=True)
class Source:
    """A passage that the model was given, by its 1-based number."""

    number: int
    chunk_id: str
    document_id: str
    collection: str
    title: str
    uri: str
    location: Location
    text: str
    score: float
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """One citation: the source's number and the exact place and text that supports the sentence."""

    number: int
    document_id: str
    collection: str
    location: Location
    quote: str
    score: float


@dataclass(frozen=True, slots=True)
class PlanEvent:
    """The stand-alone question and one query a hop."""

    question: str
    hops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchEvent:
    """A search ended; hop is 1-based."""

    hop: int
    query: str
    found: int


@dataclass(frozen=True, slots=True)
class SourcesEvent:
    """The passages that the model may cite."""

    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class DeltaEvent:
    """Next part of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class CitationEvent:
    """A sentence of the answer (span in its text) and what supports it."""

    sentence: Span
    citations: tuple[Citation, ...]
    supported: bool


@dataclass(frozen=True, slots=True)
class DoneEvent:
    """The answer is complete. finish: complete, length, interrupted, no_sources; mode: generated, extractive."""

    finish: str
    mode: str
    usage: Usage
    cited: tuple[int, ...]
    timings: dict[str, float]
    notice: str
    model: str
    thread_id: str = ""
    cached: bool = False
    searches: int = 0


@dataclass(frozen=True, slots=True)
class FollowUpsEvent:
    """Questions that a reader may want to ask next, best first."""

    questions: tuple[str, ...]


AskEvent = PlanEvent | SearchEvent | SourcesEvent | DeltaEvent | CitationEvent | FollowUpsEvent | DoneEvent


@dataclass(frozen=True, slots=True)
class Question:
    """What Ask takes; see AskRequest in the protos. mode: "", "generated" or "extractive".

    length: "", "short", "standard" or "detailed". style: "", "prose", "list" or "steps". history: (role, text) with
    the roles "user" and "assistant", oldest first.
    """

    question: str
    collection: str = ""
    mode: str = ""
    max_tokens: int = 0
    source_types: tuple[str, ...] = ()
    temperature: float | None = None
    thread_id: str = ""
    filter: SearchFilter = field(default_factory=SearchFilter)
    more_collections: tuple[str, ...] = ()
    answer_language: str = ""
    length: str = ""
    style: str = ""
    related_questions: int = 0
    skip_cache: bool = False
    max_hops: int = 0
    history: tuple[tuple[str, str], ...] = ()
    start_thread: bool = False
