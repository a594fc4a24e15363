import datetime

from citemesh.api.common.v1 import span_pb2 as _span_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Passage(_message.Message):
    __slots__ = ("chunk_id", "document_id", "collection", "title", "uri", "location", "text", "token_ids", "tokenizer_digest", "scores", "metadata", "published_at", "token_vectors", "token_vectors_digest", "duplicates")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CHUNK_ID_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_IDS_FIELD_NUMBER: _ClassVar[int]
    TOKENIZER_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_AT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_VECTORS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_VECTORS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    chunk_id: str
    document_id: str
    collection: str
    title: str
    uri: str
    location: _span_pb2.Location
    text: str
    token_ids: _containers.RepeatedScalarFieldContainer[int]
    tokenizer_digest: str
    scores: Scores
    metadata: _containers.ScalarMap[str, str]
    published_at: _timestamp_pb2.Timestamp
    token_vectors: bytes
    token_vectors_digest: str
    duplicates: _containers.RepeatedCompositeFieldContainer[Duplicate]
    def __init__(self, chunk_id: _Optional[str] = ..., document_id: _Optional[str] = ..., collection: _Optional[str] = ..., title: _Optional[str] = ..., uri: _Optional[str] = ..., location: _Optional[_Union[_span_pb2.Location, _Mapping]] = ..., text: _Optional[str] = ..., token_ids: _Optional[_Iterable[int]] = ..., tokenizer_digest: _Optional[str] = ..., scores: _Optional[_Union[Scores, _Mapping]] = ..., metadata: _Optional[_Mapping[str, str]] = ..., published_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., token_vectors: _Optional[bytes] = ..., token_vectors_digest: _Optional[str] = ..., duplicates: _Optional[_Iterable[_Union[Duplicate, _Mapping]]] = ...) -> None: ...

class Duplicate(_message.Message):
    __slots__ = ("chunk_id", "document_id", "title", "uri", "location", "similarity")
    CHUNK_ID_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    chunk_id: str
    document_id: str
    title: str
    uri: str
    location: _span_pb2.Location
    similarity: float
    def __init__(self, chunk_id: _Optional[str] = ..., document_id: _Optional[str] = ..., title: _Optional[str] = ..., uri: _Optional[str] = ..., location: _Optional[_Union[_span_pb2.Location, _Mapping]] = ..., similarity: _Optional[float] = ...) -> None: ...

class Scores(_message.Message):
    __slots__ = ("fused", "dense", "lexical")
    FUSED_FIELD_NUMBER: _ClassVar[int]
    DENSE_FIELD_NUMBER: _ClassVar[int]
    LEXICAL_FIELD_NUMBER: _ClassVar[int]
    fused: float
    dense: float
    lexical: float
    def __init__(self, fused: _Optional[float] = ..., dense: _Optional[float] = ..., lexical: _Optional[float] = ...) -> None: ...
