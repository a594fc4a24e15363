"""Documents that say who they are: each version of each has a word that nothing else has."""

import hashlib
from datetime import UTC, datetime

from services.retrieval.embedding.fake import FakeEncoder
from services.retrieval.types.chunk import Chunk, Place
from services.retrieval.types.collection import Embedding
from services.retrieval.types.document import DocumentInfo, NewDocument
from services.retrieval.types.query import Query

PARTS = 4
_ENCODER = FakeEncoder()


def embedding() -> Embedding:
    """What the documents' vectors are made by."""
    return _ENCODER.embedding


def word_of(name: str, version: int) -> str:
    """The word of one version of a document."""
    return f"{name.replace('/', 'row')}version{version}"


def text_of(name: str, version: int) -> str:
    """A text of several parts, which become its chunks."""
    return "\n".join(_parts(name, version))


def part_of(name: str, version: int) -> str:
    """Its first chunk."""
    return _parts(name, version)[0]


def document(collection: str, name: str, version: int) -> NewDocument:
    """A version of a document; "t7/3" is the row 3 of the table t7."""
    parts = _parts(name, version)
    text, table = "\n".join(parts), name.partition("/")[0] if "/" in name else ""
    starts = [sum(len(part) + 1 for part in parts[:at]) for at in range(len(parts))]
    chunks = [
        Chunk(hashlib.sha256(part.encode()).hexdigest()[:32], Place(start, start + len(part)), part)
        for start, part in zip(starts, parts, strict=True)
    ]
    info = DocumentInfo(
        document_id=name, collection=collection, title=name, uri="", source_type="text", language="",
        content_sha256=hashlib.sha256(text.encode()).hexdigest(), size_bytes=len(text.encode()), characters=len(text),
        chunks=len(chunks), pages=0, ingested_at=datetime.now(UTC), table_id=table,
    )  # fmt: skip
    vectors = _ENCODER.embed(_ENCODER.ids(parts, "passage"))
    return NewDocument(info, text, chunks, vectors, _ENCODER.embedding)


def lexical(collection: str, text: str) -> Query:
    """A search by words."""
    return Query(collection, text, 20, mode="lexical")


def dense(collection: str, text: str) -> Query:
    """A search by a text's vector."""
    vector = _ENCODER.embed(_ENCODER.ids([text], "query"))[0]
    return Query(collection, text, 20, vector, _ENCODER.embedding, "dense", keep_duplicates=True)


def _parts(name: str, version: int) -> list[str]:
    word = word_of(name, version)
    return [f"{name} part {part} of {word} speaks of {word} and of nothing else at all" for part in range(PARTS)]
