import datetime

from citemesh.api.common.v1 import span_pb2 as _span_pb2
from citemesh.api.common.v1 import usage_pb2 as _usage_pb2
from citemesh.api.retrieval.v1 import retrieval_service_pb2 as _retrieval_service_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AnswerMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANSWER_MODE_UNSPECIFIED: _ClassVar[AnswerMode]
    ANSWER_MODE_GENERATED: _ClassVar[AnswerMode]
    ANSWER_MODE_EXTRACTIVE: _ClassVar[AnswerMode]

class AnswerLength(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANSWER_LENGTH_UNSPECIFIED: _ClassVar[AnswerLength]
    ANSWER_LENGTH_SHORT: _ClassVar[AnswerLength]
    ANSWER_LENGTH_STANDARD: _ClassVar[AnswerLength]
    ANSWER_LENGTH_DETAILED: _ClassVar[AnswerLength]

class AnswerStyle(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANSWER_STYLE_UNSPECIFIED: _ClassVar[AnswerStyle]
    ANSWER_STYLE_PROSE: _ClassVar[AnswerStyle]
    ANSWER_STYLE_LIST: _ClassVar[AnswerStyle]
    ANSWER_STYLE_STEPS: _ClassVar[AnswerStyle]

class TurnRole(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TURN_ROLE_UNSPECIFIED: _ClassVar[TurnRole]
    TURN_ROLE_USER: _ClassVar[TurnRole]
    TURN_ROLE_ASSISTANT: _ClassVar[TurnRole]

class AnswerFinish(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANSWER_FINISH_UNSPECIFIED: _ClassVar[AnswerFinish]
    ANSWER_FINISH_COMPLETE: _ClassVar[AnswerFinish]
    ANSWER_FINISH_LENGTH: _ClassVar[AnswerFinish]
    ANSWER_FINISH_INTERRUPTED: _ClassVar[AnswerFinish]
    ANSWER_FINISH_NO_SOURCES: _ClassVar[AnswerFinish]
ANSWER_MODE_UNSPECIFIED: AnswerMode
ANSWER_MODE_GENERATED: AnswerMode
ANSWER_MODE_EXTRACTIVE: AnswerMode
ANSWER_LENGTH_UNSPECIFIED: AnswerLength
ANSWER_LENGTH_SHORT: AnswerLength
ANSWER_LENGTH_STANDARD: AnswerLength
ANSWER_LENGTH_DETAILED: AnswerLength
ANSWER_STYLE_UNSPECIFIED: AnswerStyle
ANSWER_STYLE_PROSE: AnswerStyle
ANSWER_STYLE_LIST: AnswerStyle
ANSWER_STYLE_STEPS: AnswerStyle
TURN_ROLE_UNSPECIFIED: TurnRole
TURN_ROLE_USER: TurnRole
TURN_ROLE_ASSISTANT: TurnRole
ANSWER_FINISH_UNSPECIFIED: AnswerFinish
ANSWER_FINISH_COMPLETE: AnswerFinish
ANSWER_FINISH_LENGTH: AnswerFinish
ANSWER_FINISH_INTERRUPTED: AnswerFinish
ANSWER_FINISH_NO_SOURCES: AnswerFinish

class EarlierTurn(_message.Message):
    __slots__ = ("role", "text")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    role: TurnRole
    text: str
    def __init__(self, role: _Optional[_Union[TurnRole, str]] = ..., text: _Optional[str] = ...) -> None: ...

class AskRequest(_message.Message):
    __slots__ = ("question", "collection", "mode", "max_tokens", "source_types", "temperature", "thread_id", "filter", "more_collections", "answer_language", "length", "style", "related_questions", "skip_cache", "max_hops", "history", "start_thread")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TYPES_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    MORE_COLLECTIONS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    STYLE_FIELD_NUMBER: _ClassVar[int]
    RELATED_QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    SKIP_CACHE_FIELD_NUMBER: _ClassVar[int]
    MAX_HOPS_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    START_THREAD_FIELD_NUMBER: _ClassVar[int]
    question: str
    collection: str
    mode: AnswerMode
    max_tokens: int
    source_types: _containers.RepeatedScalarFieldContainer[str]
    temperature: float
    thread_id: str
    filter: _retrieval_service_pb2.SearchFilter
    more_collections: _containers.RepeatedScalarFieldContainer[str]
    answer_language: str
    length: AnswerLength
    style: AnswerStyle
    related_questions: int
    skip_cache: bool
    max_hops: int
    history: _containers.RepeatedCompositeFieldContainer[EarlierTurn]
    start_thread: bool
    def __init__(self, question: _Optional[str] = ..., collection: _Optional[str] = ..., mode: _Optional[_Union[AnswerMode, str]] = ..., max_tokens: _Optional[int] = ..., source_types: _Optional[_Iterable[str]] = ..., temperature: _Optional[float] = ..., thread_id: _Optional[str] = ..., filter: _Optional[_Union[_retrieval_service_pb2.SearchFilter, _Mapping]] = ..., more_collections: _Optional[_Iterable[str]] = ..., answer_language: _Optional[str] = ..., length: _Optional[_Union[AnswerLength, str]] = ..., style: _Optional[_Union[AnswerStyle, str]] = ..., related_questions: _Optional[int] = ..., skip_cache: _Optional[bool] = ..., max_hops: _Optional[int] = ..., history: _Optional[_Iterable[_Union[EarlierTurn, _Mapping]]] = ..., start_thread: _Optional[bool] = ...) -> None: ...

class AskResponse(_message.Message):
    __slots__ = ("plan", "search", "sources", "delta", "citation", "done", "follow_ups")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    SEARCH_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    CITATION_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_UPS_FIELD_NUMBER: _ClassVar[int]
    plan: PlanEvent
    search: SearchEvent
    sources: SourcesEvent
    delta: DeltaEvent
    citation: CitationEvent
    done: DoneEvent
    follow_ups: FollowUpsEvent
    def __init__(self, plan: _Optional[_Union[PlanEvent, _Mapping]] = ..., search: _Optional[_Union[SearchEvent, _Mapping]] = ..., sources: _Optional[_Union[SourcesEvent, _Mapping]] = ..., delta: _Optional[_Union[DeltaEvent, _Mapping]] = ..., citation: _Optional[_Union[CitationEvent, _Mapping]] = ..., done: _Optional[_Union[DoneEvent, _Mapping]] = ..., follow_ups: _Optional[_Union[FollowUpsEvent, _Mapping]] = ...) -> None: ...

class PlanEvent(_message.Message):
    __slots__ = ("question", "hops")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    HOPS_FIELD_NUMBER: _ClassVar[int]
    question: str
    hops: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, question: _Optional[str] = ..., hops: _Optional[_Iterable[str]] = ...) -> None: ...

class SearchEvent(_message.Message):
    __slots__ = ("hop", "query", "found")
    HOP_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    hop: int
    query: str
    found: int
    def __init__(self, hop: _Optional[int] = ..., query: _Optional[str] = ..., found: _Optional[int] = ...) -> None: ...

class FollowUpsEvent(_message.Message):
    __slots__ = ("questions",)
    QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    questions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, questions: _Optional[_Iterable[str]] = ...) -> None: ...

class SourcesEvent(_message.Message):
    __slots__ = ("sources",)
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    sources: _containers.RepeatedCompositeFieldContainer[Source]
    def __init__(self, sources: _Optional[_Iterable[_Union[Source, _Mapping]]] = ...) -> None: ...

class Source(_message.Message):
    __slots__ = ("number", "chunk_id", "document_id", "collection", "title", "uri", "location", "text", "score", "published_at")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_ID_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_AT_FIELD_NUMBER: _ClassVar[int]
    number: int
    chunk_id: str
    document_id: str
    collection: str
    title: str
    uri: str
    location: _span_pb2.Location
    text: str
    score: float
    published_at: _timestamp_pb2.Timestamp
    def __init__(self, number: _Optional[int] = ..., chunk_id: _Optional[str] = ..., document_id: _Optional[str] = ..., collection: _Optional[str] = ..., title: _Optional[str] = ..., uri: _Optional[str] = ..., location: _Optional[_Union[_span_pb2.Location, _Mapping]] = ..., text: _Optional[str] = ..., score: _Optional[float] = ..., published_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class DeltaEvent(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class CitationEvent(_message.Message):
    __slots__ = ("sentence", "citations", "supported")
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    CITATIONS_FIELD_NUMBER: _ClassVar[int]
    SUPPORTED_FIELD_NUMBER: _ClassVar[int]
    sentence: _span_pb2.Span
    citations: _containers.RepeatedCompositeFieldContainer[Citation]
    supported: bool
    def __init__(self, sentence: _Optional[_Union[_span_pb2.Span, _Mapping]] = ..., citations: _Optional[_Iterable[_Union[Citation, _Mapping]]] = ..., supported: _Optional[bool] = ...) -> None: ...

class Citation(_message.Message):
    __slots__ = ("number", "document_id", "collection", "location", "quote", "score")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    QUOTE_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    number: int
    document_id: str
    collection: str
    location: _span_pb2.Location
    quote: str
    score: float
    def __init__(self, number: _Optional[int] = ..., document_id: _Optional[str] = ..., collection: _Optional[str] = ..., location: _Optional[_Union[_span_pb2.Location, _Mapping]] = ..., quote: _Optional[str] = ..., score: _Optional[float] = ...) -> None: ...

class DoneEvent(_message.Message):
    __slots__ = ("finish", "mode", "usage", "cited", "timings", "notice", "model", "thread_id", "cached", "searches")
    FINISH_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    CITED_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    CACHED_FIELD_NUMBER: _ClassVar[int]
    SEARCHES_FIELD_NUMBER: _ClassVar[int]
    finish: AnswerFinish
    mode: AnswerMode
    usage: _usage_pb2.Usage
    cited: _containers.RepeatedScalarFieldContainer[int]
    timings: _containers.RepeatedCompositeFieldContainer[StepTiming]
    notice: str
    model: str
    thread_id: str
    cached: bool
    searches: int
    def __init__(self, finish: _Optional[_Union[AnswerFinish, str]] = ..., mode: _Optional[_Union[AnswerMode, str]] = ..., usage: _Optional[_Union[_usage_pb2.Usage, _Mapping]] = ..., cited: _Optional[_Iterable[int]] = ..., timings: _Optional[_Iterable[_Union[StepTiming, _Mapping]]] = ..., notice: _Optional[str] = ..., model: _Optional[str] = ..., thread_id: _Optional[str] = ..., cached: _Optional[bool] = ..., searches: _Optional[int] = ...) -> None: ...

class StepTiming(_message.Message):
    __slots__ = ("step", "milliseconds")
    STEP_FIELD_NUMBER: _ClassVar[int]
    MILLISECONDS_FIELD_NUMBER: _ClassVar[int]
    step: str
    milliseconds: float
    def __init__(self, step: _Optional[str] = ..., milliseconds: _Optional[float] = ...) -> None: ...

class SearchRequest(_message.Message):
    __slots__ = ("query", "collection", "top_k", "source_types", "filter", "more_collections")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TYPES_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    MORE_COLLECTIONS_FIELD_NUMBER: _ClassVar[int]
    query: str
    collection: str
    top_k: int
    source_types: _containers.RepeatedScalarFieldContainer[str]
    filter: _retrieval_service_pb2.SearchFilter
    more_collections: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, query: _Optional[str] = ..., collection: _Optional[str] = ..., top_k: _Optional[int] = ..., source_types: _Optional[_Iterable[str]] = ..., filter: _Optional[_Union[_retrieval_service_pb2.SearchFilter, _Mapping]] = ..., more_collections: _Optional[_Iterable[str]] = ...) -> None: ...

class SearchResponse(_message.Message):
    __slots__ = ("sources",)
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    sources: _containers.RepeatedCompositeFieldContainer[Source]
    def __init__(self, sources: _Optional[_Iterable[_Union[Source, _Mapping]]] = ...) -> None: ...
