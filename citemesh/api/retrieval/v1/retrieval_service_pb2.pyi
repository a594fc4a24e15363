import datetime

from citemesh.api.retrieval.v1 import passage_pb2 as _passage_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SearchMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_MODE_UNSPECIFIED: _ClassVar[SearchMode]
    SEARCH_MODE_HYBRID: _ClassVar[SearchMode]
    SEARCH_MODE_DENSE: _ClassVar[SearchMode]
    SEARCH_MODE_LEXICAL: _ClassVar[SearchMode]

class Fusion(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FUSION_UNSPECIFIED: _ClassVar[Fusion]
    FUSION_MIN_MAX: _ClassVar[Fusion]
    FUSION_RECIPROCAL_RANK: _ClassVar[Fusion]

class PassageView(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PASSAGE_VIEW_UNSPECIFIED: _ClassVar[PassageView]
    PASSAGE_VIEW_FULL: _ClassVar[PassageView]
    PASSAGE_VIEW_REFERENCE: _ClassVar[PassageView]

class EmbedRole(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EMBED_ROLE_UNSPECIFIED: _ClassVar[EmbedRole]
    EMBED_ROLE_PASSAGE: _ClassVar[EmbedRole]
    EMBED_ROLE_QUERY: _ClassVar[EmbedRole]
SEARCH_MODE_UNSPECIFIED: SearchMode
SEARCH_MODE_HYBRID: SearchMode
SEARCH_MODE_DENSE: SearchMode
SEARCH_MODE_LEXICAL: SearchMode
FUSION_UNSPECIFIED: Fusion
FUSION_MIN_MAX: Fusion
FUSION_RECIPROCAL_RANK: Fusion
PASSAGE_VIEW_UNSPECIFIED: PassageView
PASSAGE_VIEW_FULL: PassageView
PASSAGE_VIEW_REFERENCE: PassageView
EMBED_ROLE_UNSPECIFIED: EmbedRole
EMBED_ROLE_PASSAGE: EmbedRole
EMBED_ROLE_QUERY: EmbedRole

class NumberRange(_message.Message):
    __slots__ = ("to",)
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    to: float
    def __init__(self, to: _Optional[float] = ..., **kwargs) -> None: ...

class TextRange(_message.Message):
    __slots__ = ("to",)
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    to: str
    def __init__(self, to: _Optional[str] = ..., **kwargs) -> None: ...

class AnyOf(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, values: _Optional[_Iterable[str]] = ...) -> None: ...

class MetadataCondition(_message.Message):
    __slots__ = ("key", "any_of", "number", "text")
    KEY_FIELD_NUMBER: _ClassVar[int]
    ANY_OF_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    key: str
    any_of: AnyOf
    number: NumberRange
    text: TextRange
    def __init__(self, key: _Optional[str] = ..., any_of: _Optional[_Union[AnyOf, _Mapping]] = ..., number: _Optional[_Union[NumberRange, _Mapping]] = ..., text: _Optional[_Union[TextRange, _Mapping]] = ...) -> None: ...

class SearchFilter(_message.Message):
    __slots__ = ("document_ids", "source_types", "domains", "languages", "published_after", "published_before", "metadata", "conditions")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    DOCUMENT_IDS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TYPES_FIELD_NUMBER: _ClassVar[int]
    DOMAINS_FIELD_NUMBER: _ClassVar[int]
    LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_AFTER_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    document_ids: _containers.RepeatedScalarFieldContainer[str]
    source_types: _containers.RepeatedScalarFieldContainer[str]
    domains: _containers.RepeatedScalarFieldContainer[str]
    languages: _containers.RepeatedScalarFieldContainer[str]
    published_after: _timestamp_pb2.Timestamp
    published_before: _timestamp_pb2.Timestamp
    metadata: _containers.ScalarMap[str, str]
    conditions: _containers.RepeatedCompositeFieldContainer[MetadataCondition]
    def __init__(self, document_ids: _Optional[_Iterable[str]] = ..., source_types: _Optional[_Iterable[str]] = ..., domains: _Optional[_Iterable[str]] = ..., languages: _Optional[_Iterable[str]] = ..., published_after: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., published_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., metadata: _Optional[_Mapping[str, str]] = ..., conditions: _Optional[_Iterable[_Union[MetadataCondition, _Mapping]]] = ...) -> None: ...

class SearchRequest(_message.Message):
    __slots__ = ("collection", "query", "top_k", "mode", "filter", "with_token_ids", "with_token_vectors", "fusion", "dense_weight", "keep_duplicates", "token_vectors_of", "view")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    WITH_TOKEN_IDS_FIELD_NUMBER: _ClassVar[int]
    WITH_TOKEN_VECTORS_FIELD_NUMBER: _ClassVar[int]
    FUSION_FIELD_NUMBER: _ClassVar[int]
    DENSE_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    KEEP_DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    TOKEN_VECTORS_OF_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    collection: str
    query: str
    top_k: int
    mode: SearchMode
    filter: SearchFilter
    with_token_ids: bool
    with_token_vectors: bool
    fusion: Fusion
    dense_weight: float
    keep_duplicates: bool
    token_vectors_of: int
    view: PassageView
    def __init__(self, collection: _Optional[str] = ..., query: _Optional[str] = ..., top_k: _Optional[int] = ..., mode: _Optional[_Union[SearchMode, str]] = ..., filter: _Optional[_Union[SearchFilter, _Mapping]] = ..., with_token_ids: _Optional[bool] = ..., with_token_vectors: _Optional[bool] = ..., fusion: _Optional[_Union[Fusion, str]] = ..., dense_weight: _Optional[float] = ..., keep_duplicates: _Optional[bool] = ..., token_vectors_of: _Optional[int] = ..., view: _Optional[_Union[PassageView, str]] = ...) -> None: ...

class SearchResponse(_message.Message):
    __slots__ = ("passages", "sequence_number", "notices")
    PASSAGES_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_NUMBER_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    passages: _containers.RepeatedCompositeFieldContainer[_passage_pb2.Passage]
    sequence_number: int
    notices: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, passages: _Optional[_Iterable[_Union[_passage_pb2.Passage, _Mapping]]] = ..., sequence_number: _Optional[int] = ..., notices: _Optional[_Iterable[str]] = ...) -> None: ...

class BatchSearchRequest(_message.Message):
    __slots__ = ("searches",)
    SEARCHES_FIELD_NUMBER: _ClassVar[int]
    searches: _containers.RepeatedCompositeFieldContainer[SearchRequest]
    def __init__(self, searches: _Optional[_Iterable[_Union[SearchRequest, _Mapping]]] = ...) -> None: ...

class BatchSearchResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[SearchResponse]
    def __init__(self, results: _Optional[_Iterable[_Union[SearchResponse, _Mapping]]] = ...) -> None: ...

class EmbedRequest(_message.Message):
    __slots__ = ("texts", "role")
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    texts: _containers.RepeatedScalarFieldContainer[str]
    role: EmbedRole
    def __init__(self, texts: _Optional[_Iterable[str]] = ..., role: _Optional[_Union[EmbedRole, str]] = ...) -> None: ...

class EmbedResponse(_message.Message):
    __slots__ = ("vectors", "embedding_model", "tokens")
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_MODEL_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    vectors: _containers.RepeatedCompositeFieldContainer[Vector]
    embedding_model: str
    tokens: int
    def __init__(self, vectors: _Optional[_Iterable[_Union[Vector, _Mapping]]] = ..., embedding_model: _Optional[str] = ..., tokens: _Optional[int] = ...) -> None: ...

class Vector(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, values: _Optional[_Iterable[float]] = ...) -> None: ...
