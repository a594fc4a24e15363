"""The tools' results. The protocol's schemas come from them; slots would read as defaults there."""

from dataclasses import dataclass

from citemesh.client.types import Collection, Source


@dataclass(frozen=True)
class FoundPassage:
    """A passage: start and end are its span in the document's text, in code points; page 0 means no pages."""

    number: int
    title: str
    url: str
    document_id: str
    collection: str
    page: int
    start: int
    end: int
    text: str
    score: float


@dataclass(frozen=True)
class FoundPassages:
    """Passages, best first; those of one document share a number."""

    passages: list[FoundPassage]


@dataclass(frozen=True)
class ToolAnswer:
    """An answer: its text has [n] markers that name sources by number. unsupported: sentences that nothing supports."""

    answer: str
    sources: list[FoundPassage]
    unsupported: list[str]
    related_questions: list[str]
    notice: str
    mode: str
    thread_id: str


@dataclass(frozen=True)
class KnownCollection:
    """A collection and how many documents it holds."""

    name: str
    documents: int


@dataclass(frozen=True)
class KnownCollections:
    """The collections by name."""

    collections: list[KnownCollection]


@dataclass(frozen=True)
class ReadText:
    """A stretch of a document's text, in code points; `characters` is the length of the whole."""

    document_id: str
    collection: str
    title: str
    url: str
    start: int
    end: int
    characters: int
    text: str


def passage(source: Source) -> FoundPassage:
    """Returns a source as a tool's result shows it."""
    span = source.location.span
    return FoundPassage(
        source.number,
        source.title,
        source.uri,
        source.document_id,
        source.collection,
        source.location.page,
        span.start,
        span.end,
        source.text,
        round(source.score, 4),
    )


def collection_entry(collection: Collection) -> KnownCollection:
    """Returns a collection as a tool's result shows it."""
    return KnownCollection(collection.name, collection.documents)
