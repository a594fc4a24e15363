import datetime

from citemesh.api.common.v1 import span_pb2 as _span_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class IngestState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INGEST_STATE_UNSPECIFIED: _ClassVar[IngestState]
    INGEST_STATE_RECEIVED: _ClassVar[IngestState]
    INGEST_STATE_PARSED: _ClassVar[IngestState]
    INGEST_STATE_CHUNKED: _ClassVar[IngestState]
    INGEST_STATE_EMBEDDED: _ClassVar[IngestState]
    INGEST_STATE_COMMITTED: _ClassVar[IngestState]
    INGEST_STATE_UNCHANGED: _ClassVar[IngestState]
    INGEST_STATE_FAILED: _ClassVar[IngestState]
INGEST_STATE_UNSPECIFIED: IngestState
INGEST_STATE_RECEIVED: IngestState
INGEST_STATE_PARSED: IngestState
INGEST_STATE_CHUNKED: IngestState
INGEST_STATE_EMBEDDED: IngestState
INGEST_STATE_COMMITTED: IngestState
INGEST_STATE_UNCHANGED: IngestState
INGEST_STATE_FAILED: IngestState

class IngestRequest(_message.Message):
    __slots__ = ("header", "data", "end")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    header: DocumentHeader
    data: bytes
    end: DocumentEnd
    def __init__(self, header: _Optional[_Union[DocumentHeader, _Mapping]] = ..., data: _Optional[bytes] = ..., end: _Optional[_Union[DocumentEnd, _Mapping]] = ...) -> None: ...

class DocumentHeader(_message.Message):
    __slots__ = ("correlation_id", "collection", "document_id", "title", "uri", "media_type", "size_bytes", "metadata")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    correlation_id: str
    collection: str
    document_id: str
    title: str
    uri: str
    media_type: str
    size_bytes: int
    metadata: _containers.ScalarMap[str, str]
    def __init__(self, correlation_id: _Optional[str] = ..., collection: _Optional[str] = ..., document_id: _Optional[str] = ..., title: _Optional[str] = ..., uri: _Optional[str] = ..., media_type: _Optional[str] = ..., size_bytes: _Optional[int] = ..., metadata: _Optional[_Mapping[str, str]] = ...) -> None: ...

class DocumentEnd(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class IngestResponse(_message.Message):
    __slots__ = ("correlation_id", "document_id", "state", "chunks", "characters", "error", "rows", "failed_rows", "notices")
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    CHARACTERS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    FAILED_ROWS_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    correlation_id: str
    document_id: str
    state: IngestState
    chunks: int
    characters: int
    error: IngestError
    rows: int
    failed_rows: int
    notices: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, correlation_id: _Optional[str] = ..., document_id: _Optional[str] = ..., state: _Optional[_Union[IngestState, str]] = ..., chunks: _Optional[int] = ..., characters: _Optional[int] = ..., error: _Optional[_Union[IngestError, _Mapping]] = ..., rows: _Optional[int] = ..., failed_rows: _Optional[int] = ..., notices: _Optional[_Iterable[str]] = ...) -> None: ...

class IngestError(_message.Message):
    __slots__ = ("reason", "message", "remedy")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REMEDY_FIELD_NUMBER: _ClassVar[int]
    reason: str
    message: str
    remedy: str
    def __init__(self, reason: _Optional[str] = ..., message: _Optional[str] = ..., remedy: _Optional[str] = ...) -> None: ...

class Document(_message.Message):
    __slots__ = ("document_id", "collection", "title", "uri", "source_type", "language", "content_sha256", "size_bytes", "characters", "chunks", "pages", "ingested_at", "metadata", "table_id")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_SHA256_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    CHARACTERS_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    INGESTED_AT_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
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
    ingested_at: _timestamp_pb2.Timestamp
    metadata: _containers.ScalarMap[str, str]
    table_id: str
    def __init__(self, document_id: _Optional[str] = ..., collection: _Optional[str] = ..., title: _Optional[str] = ..., uri: _Optional[str] = ..., source_type: _Optional[str] = ..., language: _Optional[str] = ..., content_sha256: _Optional[str] = ..., size_bytes: _Optional[int] = ..., characters: _Optional[int] = ..., chunks: _Optional[int] = ..., pages: _Optional[int] = ..., ingested_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., metadata: _Optional[_Mapping[str, str]] = ..., table_id: _Optional[str] = ...) -> None: ...

class GetDocumentRequest(_message.Message):
    __slots__ = ("collection", "document_id", "span", "without_text")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    SPAN_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_TEXT_FIELD_NUMBER: _ClassVar[int]
    collection: str
    document_id: str
    span: _span_pb2.Span
    without_text: bool
    def __init__(self, collection: _Optional[str] = ..., document_id: _Optional[str] = ..., span: _Optional[_Union[_span_pb2.Span, _Mapping]] = ..., without_text: _Optional[bool] = ...) -> None: ...

class GetDocumentResponse(_message.Message):
    __slots__ = ("document", "text", "span")
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SPAN_FIELD_NUMBER: _ClassVar[int]
    document: Document
    text: str
    span: _span_pb2.Span
    def __init__(self, document: _Optional[_Union[Document, _Mapping]] = ..., text: _Optional[str] = ..., span: _Optional[_Union[_span_pb2.Span, _Mapping]] = ...) -> None: ...

class ListDocumentsRequest(_message.Message):
    __slots__ = ("collection", "page_size", "page_token", "table_id")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    collection: str
    page_size: int
    page_token: str
    table_id: str
    def __init__(self, collection: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., table_id: _Optional[str] = ...) -> None: ...

class ListDocumentsResponse(_message.Message):
    __slots__ = ("documents", "next_page_token")
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    documents: _containers.RepeatedCompositeFieldContainer[Document]
    next_page_token: str
    def __init__(self, documents: _Optional[_Iterable[_Union[Document, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteDocumentsRequest(_message.Message):
    __slots__ = ("collection", "document_ids")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_IDS_FIELD_NUMBER: _ClassVar[int]
    collection: str
    document_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, collection: _Optional[str] = ..., document_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class DeleteDocumentsResponse(_message.Message):
    __slots__ = ("deleted", "missing", "sequence_number")
    DELETED_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_NUMBER_FIELD_NUMBER: _ClassVar[int]
    deleted: _containers.RepeatedScalarFieldContainer[str]
    missing: _containers.RepeatedScalarFieldContainer[str]
    sequence_number: int
    def __init__(self, deleted: _Optional[_Iterable[str]] = ..., missing: _Optional[_Iterable[str]] = ..., sequence_number: _Optional[int] = ...) -> None: ...
