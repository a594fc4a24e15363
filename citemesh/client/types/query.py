"""Questions to the gateway and the events of its answers."""

from dataclasses import dataclass, field
from datetime import datetime

from citemesh.client.types.places import Location, Usage
from citemesh.client.types.retrieval import SearchFilter
from citemesh.text.span import Span


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
    """A search ended and found so many passages; hop is 1-based."""

    hop: int
    query: str
    passages: int


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
    """A question as Ask takes it; see AskRequest in the protos. mode: "", "generated" or "extractive".

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
