"""Documents and chunks as rows of Milvus, and back."""

import base64
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import numpy as np

from citemesh.errors import InvalidInput
from citemesh.text.index_words import index_words
from services.retrieval.engines.milvus import filter
from services.retrieval.engines.milvus.filter import key
from services.retrieval.engines.milvus.schema import LONGEST, NO_VECTOR
from services.retrieval.search import lexical, near_duplicates
from services.retrieval.types.chunk import Chunk, Place, TokenIds
from services.retrieval.types.collection import Embedding
from services.retrieval.types.document import DocumentInfo, NewDocument

Row = dict[str, Any]
_PIECE = 16_000
"""Characters of a piece of text: at most 64,000 bytes."""
_LONGEST_WORD = 40
_REMEDY = "set a smaller CITEMESH_RETRIEVAL_CHUNK_TOKENS, or use the faiss engine"


def document_row(info: DocumentInfo, version: str) -> Row:
    """The row that makes a version count."""
    described = json.dumps(asdict(info), ensure_ascii=False, default=datetime.isoformat)
    if len(described.encode("utf-8", "replace")) > LONGEST:
        raise InvalidInput("metadata", f"with it the document's description is over {LONGEST} bytes", "send less of it")
    return {
        "id": key(info.document_id),
        "version": version,
        "described": described,
        "place": order(info.document_id),
        "table": key(info.table_id) if info.table_id else "",
        "vector": NO_VECTOR,
    }


def order(document_id: str) -> str:
    """Hex digits whose order is that of the ids."""
    return document_id.encode("utf-8", "surrogatepass").hex()


def document_of(row: Row) -> DocumentInfo:
    """The document of a row."""
    fields = json.loads(row["described"])
    for name in ("ingested_at", "published_at"):
        fields[name] = datetime.fromisoformat(fields[name]) if fields[name] else None
    return DocumentInfo(**fields)


def chunk_rows(document: NewDocument, version: str) -> Iterator[Row]:
    """The rows of a document's chunks. Raises InvalidInput for a chunk that Milvus can't hold."""
    shared = filter.row_fields(document.info) | {"document": key(document.info.document_id), "version": version}
    for at, chunk in enumerate(document.chunks):
        readable = at not in document.unreadable
        vector = document.vectors[at] if readable else np.zeros(document.vectors.shape[1], np.float32)
        yield shared | _chunk_row(chunk, at, version) | {"readable": readable, "dense": vector.tolist()}


def _chunk_row(chunk: Chunk, at: int, version: str) -> Row:
    place = [chunk.place.start, chunk.place.end, chunk.place.page, list(chunk.place.headings)]
    row: Row = {
        "id": f"{version}-{at:08}",
        "chunk_id": chunk.chunk_id,
        "at": at,
        "place": json.dumps(place, ensure_ascii=False),
        "text": chunk.text,
        "words": indexed(" ".join((*chunk.place.headings, chunk.text))),
        "vectors_digest": chunk.token_vectors.digest,
        "signature": _signature(chunk.text),
    } | token_fields(chunk.tokens)
    for name in ("text", "words", "place", "token_ids"):
        if (size := len(str(row[name]).encode("utf-8", "replace"))) > LONGEST:
            raise InvalidInput("chunk", f"its {name} takes {size} bytes, over Milvus's limit of {LONGEST}", _REMEDY)
    return row


def _signature(text: str) -> str:
    """The text's near-duplicate signature, behind its version."""
    return f"{near_duplicates.VERSION} {base64.b64encode(near_duplicates.signature(text)).decode()}"


def signature_of(row: Row) -> bytes:
    """A chunk's signature; made again where it is of another version."""
    version, _, packed = str(row["signature"]).partition(" ")
    return base64.b64decode(packed) if version == near_duplicates.VERSION else near_duplicates.signature(row["text"])


def token_fields(tokens: TokenIds) -> Row:
    """Token ids as their row has them: 4 bytes each, as base64."""
    packed = struct.pack(f"<{len(tokens.ids)}I", *tokens.ids)
    return {"token_ids": base64.b64encode(packed).decode(), "tokens_digest": tokens.digest}


def chunk_of(row: Row) -> Chunk:
    """A chunk, without its token vectors; with token ids where the row brings them."""
    start, end, page, headings = json.loads(row["place"])
    packed = base64.b64decode(row.get("token_ids", ""))
    tokens = TokenIds(struct.unpack(f"<{len(packed) // 4}I", packed), row["tokens_digest"]) if packed else TokenIds()
    return Chunk(row["chunk_id"], Place(start, end, page, tuple(headings)), row["text"], tokens)


def part_rows(document: NewDocument, version: str) -> Iterator[Row]:
    """The document's text and its chunks' token vectors, in pieces."""
    yield from _pieces("text", document.text, version)
    for at, chunk in enumerate(document.chunks):
        if chunk.token_vectors.packed:
            packed = base64.b64encode(chunk.token_vectors.packed).decode()
            yield from _pieces(f"vectors-{at:08}", packed, version)


def _pieces(kind: str, text: str, version: str) -> Iterator[Row]:
    for number, start in enumerate(range(0, len(text), _PIECE)):
        data = text[start : start + _PIECE]
        row = {"id": f"{version}-{kind}-{number:06}", "version": version, "kind": kind, "at": number, "data": data}
        yield row | {"vector": NO_VECTOR}


def joined(rows: Sequence[Row]) -> str:
    """Pieces of one kind as the text that they were."""
    return "".join(row["data"] for row in sorted(rows, key=lambda row: int(row["at"])))


def indexed(text: str) -> str:
    """Words so that the analyzer of Milvus takes each as one, single characters of unspaced scripts too."""
    words: list[str] = []
    for word in index_words(text):
        words.append(_plain(word))
        if len(word) == 2 and not word.isascii():
            words.append(_plain(word[0]))
    return " ".join(words)


def query_words(query: str) -> str:
    """The words of a query in the same form."""
    return " ".join(map(_plain, lexical.query_words(query)))


def _plain(word: str) -> str:
    """A word of ASCII letters and digits alone, which no tokenizer splits."""
    if word.isascii() and word.isalnum() and len(word) <= _LONGEST_WORD:
        return word
    spelt = word.encode("utf-8", "surrogatepass").hex()
    return f"u{spelt}" if len(spelt) < _LONGEST_WORD else f"h{key(spelt)}"


def embedding_text(embedding: Embedding, created_at: datetime, name: str) -> str:
    """A collection's description in the registry."""
    return json.dumps({"name": name, "embedding": asdict(embedding), "created_at": created_at.isoformat()})


def embedding_of(described: str) -> tuple[Embedding, datetime]:
    """What a collection is fixed to, and when it was made."""
    fields: Mapping[str, Any] = json.loads(described)
    return Embedding(**fields["embedding"]), datetime.fromisoformat(fields["created_at"])
