"""Messages of the retrieval API to this room's values and back, with every check of a field."""

import base64
import binascii
import math
import re
from collections.abc import Sequence
from datetime import UTC

from citemesh.api.common.v1 import span_pb2
from citemesh.api.retrieval.v1 import collection_service_pb2 as collections_pb
from citemesh.api.retrieval.v1 import document_service_pb2 as documents_pb
from citemesh.api.retrieval.v1 import passage_pb2
from citemesh.api.retrieval.v1 import retrieval_service_pb2 as search_pb
from citemesh.errors import InvalidInput
from citemesh.kit.moments import moment, timestamp
from services.retrieval.engine import (
    DEFAULT_COLLECTION,
    CollectionInfo,
    Condition,
    Copied,
    DocumentInfo,
    Duplicate,
    Filter,
    Found,
    Fusion,
    Mode,
    Place,
    Query,
    Results,
    Vector,
)
from services.retrieval.ingest.upload import End, Header, Part, Progress

MAX_TOP_K = 1000
MAX_QUERY = 32_768
MAX_PAGE = 1000
MAX_DELETED = 1000
MAX_FILTER_VALUES = 1000
MAX_CONDITIONS = 64
MOST_VECTOR_BYTES = 8 << 20
"""Token vectors in one answer: half of what a message may be by default. A passage without is read again."""
MAX_SEARCHES = 256
_LONGEST_KEY = 256
_PAGE = 100
_TOP_K = 10
_LONGEST_PART = 1024 * 1024
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MODES: dict[int, Mode] = {
    search_pb.SEARCH_MODE_UNSPECIFIED: "hybrid",
    search_pb.SEARCH_MODE_HYBRID: "hybrid",
    search_pb.SEARCH_MODE_DENSE: "dense",
    search_pb.SEARCH_MODE_LEXICAL: "lexical",
}
_FUSIONS: dict[int, Fusion] = {
    search_pb.FUSION_UNSPECIFIED: "min-max",
    search_pb.FUSION_MIN_MAX: "min-max",
    search_pb.FUSION_RECIPROCAL_RANK: "reciprocal-rank",
}


def query(request: search_pb.SearchRequest) -> Query:
    """A search, without its vector."""
    text = request.query
    if not text.strip():
        raise InvalidInput("query", "it is empty", "ask something")
    if len(text) > MAX_QUERY:
        raise InvalidInput("query", f"it has {len(text)} characters", f"ask in up to {MAX_QUERY}")
    if request.mode not in _MODES:
        raise InvalidInput("mode", f"{request.mode} is no search mode", "leave it out for hybrid")
    if not 0 <= request.token_vectors_of <= MAX_TOP_K:
        raise InvalidInput("token_vectors_of", f"{request.token_vectors_of} is out of range", f"use 0 to {MAX_TOP_K}")
    if request.fusion not in _FUSIONS:
        raise InvalidInput("fusion", f"{request.fusion} is no fusion", "leave it out for min-max")
    return Query(
        collection=collection(request.collection),
        text=text,
        top_k=_bounded("top_k", request.top_k, _TOP_K, MAX_TOP_K),
        mode=_MODES[request.mode],
        filter=_filter(request.filter),
        with_token_ids=request.with_token_ids,
        with_token_vectors=request.with_token_vectors,
        fusion=_FUSIONS[request.fusion],
        dense_weight=_dense_weight(request),
        keep_duplicates=request.keep_duplicates,
    )


def queries(request: search_pb.BatchSearchRequest) -> list[Query]:
    """Several searches. Raises InvalidInput, whose field names the search."""
    if not 0 < len(request.searches) <= MAX_SEARCHES:
        raise InvalidInput("searches", f"it has {len(request.searches)} entries", f"send 1 to {MAX_SEARCHES}")
    found = []
    for number, search in enumerate(request.searches):
        try:
            found.append(query(search))
        except InvalidInput as error:
            raise InvalidInput(f"searches[{number}].{error.field}", error.fault, error.remedy) from None
    return found


def embedding(request: search_pb.EmbedRequest) -> tuple[tuple[str, ...], bool]:
    """Texts to embed, and whether as questions. Raises InvalidInput, whose field names the text."""
    if not 0 < len(request.texts) <= MAX_SEARCHES:
        raise InvalidInput("texts", f"it has {len(request.texts)} entries", f"send 1 to {MAX_SEARCHES}")
    if request.role not in search_pb.EmbedRole.values():
        raise InvalidInput("role", f"{request.role} is no role", "use PASSAGE or QUERY")
    for number, text in enumerate(request.texts):
        if not text.strip() or len(text) > MAX_QUERY:
            fault = f"it has {len(text)} characters" if text.strip() else "it is empty"
            raise InvalidInput(f"texts[{number}]", fault, f"send 1 to {MAX_QUERY} characters")
    return tuple(request.texts), request.role == search_pb.EMBED_ROLE_QUERY


def vectors(found: Vector, model: str, tokens: int) -> search_pb.EmbedResponse:
    """The answer to a call for vectors, of shape (texts, dimension)."""
    return search_pb.EmbedResponse(
        vectors=[search_pb.Vector(values=row.tolist()) for row in found], embedding_model=model, tokens=tokens
    )


def results(
    found: Results, most_vector_bytes: int = MOST_VECTOR_BYTES, vectors_of: int = 0
) -> search_pb.SearchResponse:
    """The answer to a search. Passages whose token vectors would be over the limit with those before go without.

    Args:
        vectors_of: passages, from the best, that have their vectors with them; 0: all.
    """
    passages = []
    for place, one in enumerate(found.found):
        wanted = not vectors_of or place < vectors_of
        most_vector_bytes -= len(one.chunk.token_vectors.packed) if wanted else 0
        passages.append(passage(one, with_vectors=wanted and most_vector_bytes >= 0))
    return search_pb.SearchResponse(passages=passages, sequence_number=found.sequence, notices=found.notices)


def all_results(found: Sequence[Results], vectors_of: Sequence[int] = ()) -> search_pb.BatchSearchResponse:
    """The answer to several searches, which share the limit of token vectors; vectors_of: as above, one a search."""
    each = MOST_VECTOR_BYTES // max(1, len(found))
    pairs = zip(found, vectors_of or [0] * len(found), strict=True)
    return search_pb.BatchSearchResponse(results=[results(one, each, most) for one, most in pairs])


def passage(found: Found, with_vectors: bool = True) -> passage_pb2.Passage:
    """One found chunk. Parts are filled in place and empty ones left alone, which halves the time of a large answer."""
    chunk, document = found.chunk, found.document
    message = passage_pb2.Passage(
        chunk_id=chunk.chunk_id,
        document_id=document.document_id,
        collection=document.collection,
        title=document.title,
        uri=document.uri,
        text=chunk.text,
    )
    _place(message.location, chunk.place)
    _scores(message.scores, found)
    if chunk.tokens.digest:
        message.token_ids.extend(chunk.tokens.ids)
        message.tokenizer_digest = chunk.tokens.digest
    if document.metadata:
        message.metadata.update(document.metadata)
    if document.published_at is not None:
        message.published_at.FromDatetime(document.published_at.astimezone(UTC))
    if with_vectors and chunk.token_vectors.digest:
        message.token_vectors, message.token_vectors_digest = chunk.token_vectors.packed, chunk.token_vectors.digest
    if found.duplicates:
        message.duplicates.extend(map(_duplicate, found.duplicates))
    return message


def part(request: documents_pb.IngestRequest) -> Part:
    """One message of an ingest stream."""
    kind = request.WhichOneof("part")
    if kind == "header":
        return _header(request.header)
    if kind == "data":
        if len(request.data) > _LONGEST_PART:
            raise InvalidInput("data", f"it has {len(request.data)} bytes", "send up to 1 MiB a part")
        return request.data
    if kind == "end":
        return End()
    raise InvalidInput("part", "the message holds none", "send a header, data or an end")


def progress(report: Progress) -> documents_pb.IngestResponse:
    """One document's progress."""
    fault = report.fault
    error = documents_pb.IngestError(reason=fault.reason, message=fault.message, remedy=fault.remedy) if fault else None
    return documents_pb.IngestResponse(
        correlation_id=report.correlation_id,
        document_id=report.document_id,
        state=f"INGEST_STATE_{report.state.upper()}",
        chunks=report.chunks,
        characters=report.characters,
        error=error,
        rows=report.rows,
        failed_rows=report.failed_rows,
        notices=report.notices,
    )


def document(info: DocumentInfo) -> documents_pb.Document:
    """A document without its text."""
    return documents_pb.Document(
        document_id=info.document_id,
        collection=info.collection,
        title=info.title,
        uri=info.uri,
        source_type=info.source_type,
        language=info.language,
        content_sha256=info.content_sha256,
        size_bytes=info.size_bytes,
        characters=info.characters,
        chunks=info.chunks,
        pages=info.pages,
        ingested_at=timestamp(info.ingested_at),
        metadata=info.metadata,
        table_id=info.table_id,
    )


def document_text(
    request: documents_pb.GetDocumentRequest, info: DocumentInfo, text: str, most_bytes: int
) -> documents_pb.GetDocumentResponse:
    """A document and the stretch of its text that was asked for. Raises InvalidInput."""
    if request.without_text:
        return documents_pb.GetDocumentResponse(document=document(info))
    start, end = _stretch(request, len(text))
    wanted = text[start:end]
    if len(wanted.encode()) > most_bytes:
        raise InvalidInput(
            "span", f"{end - start} characters are over a message's limit", "ask for a span, one after another"
        )
    span = span_pb2.Span(start=start, end=end)
    return documents_pb.GetDocumentResponse(document=document(info), text=wanted, span=span)


def collection_info(info: CollectionInfo) -> collections_pb.Collection:
    """A collection."""
    return collections_pb.Collection(
        name=info.name,
        embedding_model=info.embedding.model,
        dimension=info.embedding.dimension,
        documents=info.documents,
        chunks=info.chunks,
        created_at=timestamp(info.created_at),
        unreadable_chunks=info.unreadable_chunks,
        index=info.index,
    )


def copied(made: Copied) -> collections_pb.SnapshotResponse:
    """A copy of the store."""
    return collections_pb.SnapshotResponse(
        directory=str(made.directory),
        sequence_number=made.sequence,
        documents=made.documents,
        chunks=made.chunks,
    )


def collection(name: str) -> str:
    """A collection's name; the default's for an empty one."""
    return name or DEFAULT_COLLECTION


def new_collection(name: str) -> str:
    """A name that a collection may have."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            "name", f"{name[:80]!r} is no name", 'use 1 to 64 of a-z, 0-9, "-" and "_", a letter or digit first'
        )
    return name


def deletion(request: documents_pb.DeleteDocumentsRequest) -> Sequence[str]:
    """Ids to delete. Raises InvalidInput without any: nothing goes by leaving a field empty."""
    ids = list(request.document_ids)
    if not ids:
        raise InvalidInput("document_ids", "it is empty", "name the documents to delete")
    if len(ids) > MAX_DELETED:
        raise InvalidInput("document_ids", f"it has {len(ids)} entries", f"delete up to {MAX_DELETED} at once")
    if "" in ids:
        raise InvalidInput("document_ids", "one of them is empty", "name the documents to delete")
    return ids


def page_size(asked: int) -> int:
    """Entries of a page."""
    return _bounded("page_size", asked, _PAGE, MAX_PAGE)


def page_start(token: str) -> str:
    """What a page begins after. Raises InvalidInput for a token that no answer gave."""
    try:
        return base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        raise InvalidInput("page_token", "no answer gave it", "send a next_page_token, or nothing") from None


def page_token(last: str) -> str:
    """Token of the page after an entry."""
    return base64.urlsafe_b64encode(last.encode()).decode("ascii")


def _bounded(field: str, asked: int, default: int, most: int) -> int:
    if not 0 <= asked <= most:
        raise InvalidInput(field, f"{asked} is out of range", f"ask for 1 to {most}, or 0 for {default}")
    return asked or default


def _filter(message: search_pb.SearchFilter) -> Filter:
    for field in ("document_ids", "source_types", "domains", "languages", "metadata"):
        if len(getattr(message, field)) > MAX_FILTER_VALUES:
            raise InvalidInput(f"filter.{field}", "it has too many entries", f"name up to {MAX_FILTER_VALUES}")
    if any(not name.strip("-. ") for name in message.domains):
        raise InvalidInput("filter.domains", "one of them is empty", 'name domains, with a "-" before denied ones')
    return Filter(
        document_ids=tuple(message.document_ids),
        source_types=tuple(message.source_types),
        domains=tuple(message.domains),
        languages=tuple(message.languages),
        published_after=moment(message, "published_after", "filter.published_after"),
        published_before=moment(message, "published_before", "filter.published_before"),
        metadata=dict(message.metadata),
        conditions=_conditions(message),
    )


def _conditions(message: search_pb.SearchFilter) -> tuple[Condition, ...]:
    if len(message.conditions) > MAX_CONDITIONS:
        raise InvalidInput("filter.conditions", "it has too many entries", f"name up to {MAX_CONDITIONS}")
    return tuple(_condition(f"filter.conditions[{at}]", one) for at, one in enumerate(message.conditions))


def _condition(field: str, message: search_pb.MetadataCondition) -> Condition:
    if not 0 < len(message.key) <= _LONGEST_KEY:
        raise InvalidInput(
            f"{field}.key", "it is empty or too long", f"name an entry in up to {_LONGEST_KEY} characters"
        )
    must = message.WhichOneof("must")
    if must == "any_of":
        if not 0 < len(message.any_of.values) <= MAX_FILTER_VALUES:
            raise InvalidInput(f"{field}.any_of", "it has no value, or too many", f"name 1 to {MAX_FILTER_VALUES}")
        return Condition(message.key, any_of=tuple(message.any_of.values))
    if must == "number":
        return Condition(message.key, numbers=_numbers(f"{field}.number", message.number))
    if must == "text":
        bounds = message.text
        first, last = getattr(bounds, "from") or None, bounds.to or None
        _check_bounds(f"{field}.text", first, last)
        return Condition(message.key, texts=(first, last))
    raise InvalidInput(field, "it says nothing of the value", "set any_of, number or text")


def _numbers(field: str, message: search_pb.NumberRange) -> tuple[float | None, float | None]:
    low = getattr(message, "from") if message.HasField("from") else None
    high = message.to if message.HasField("to") else None
    if any(bound is not None and math.isnan(bound) for bound in (low, high)):
        raise InvalidInput(field, "a bound is no number", "send numbers")
    _check_bounds(field, low, high)
    return low, high


def _check_bounds(field: str, low: float | str | None, high: float | str | None) -> None:
    if low is None and high is None:
        raise InvalidInput(field, "it has no bound", "set from, to or both")
    if low is not None and high is not None and low > high:  # type: ignore[operator]  # both are of one type
        raise InvalidInput(field, "it begins after its end", "swap from and to")


def _dense_weight(request: search_pb.SearchRequest) -> float | None:
    if not request.HasField("dense_weight"):
        return None
    if not 0 <= request.dense_weight <= 1:  # NaN too is not within
        raise InvalidInput("dense_weight", f"{request.dense_weight:g} is out of range", "send 0 to 1, or leave it out")
    return request.dense_weight


def _duplicate(one: Duplicate) -> passage_pb2.Duplicate:
    return passage_pb2.Duplicate(
        chunk_id=one.chunk_id,
        document_id=one.document.document_id,
        title=one.document.title,
        uri=one.document.uri,
        location=_location(one.place),
        similarity=one.similarity,
    )


def _header(message: documents_pb.DocumentHeader) -> Header:
    return Header(
        correlation_id=message.correlation_id,
        collection=collection(message.collection),
        document_id=message.document_id,
        title=message.title,
        uri=message.uri,
        media_type=message.media_type,
        size_bytes=message.size_bytes,
        metadata=dict(message.metadata),
    )


def _stretch(request: documents_pb.GetDocumentRequest, length: int) -> tuple[int, int]:
    if not request.HasField("span"):
        return 0, length
    start, end = request.span.start, request.span.end
    if not 0 <= start <= end <= length:
        raise InvalidInput("span", f"{start}..{end} is not within the text", f"ask within 0..{length}")
    return start, end


def _location(place: Place) -> span_pb2.Location:
    message = span_pb2.Location()
    _place(message, place)
    return message


def _place(message: span_pb2.Location, place: Place) -> None:
    message.span.start, message.span.end = place.start, place.end
    message.page = place.page
    if place.headings:
        message.headings.extend(place.headings)


def _scores(message: passage_pb2.Scores, found: Found) -> None:
    message.fused = found.fused
    if found.dense is not None:
        message.dense = found.dense
    if found.lexical is not None:
        message.lexical = found.lexical
