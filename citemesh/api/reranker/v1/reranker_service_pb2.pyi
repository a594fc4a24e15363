from citemesh.api.common.v1 import span_pb2 as _span_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Candidate(_message.Message):
    __slots__ = ("id", "text", "retrieval_score", "token_vectors", "token_vectors_digest")
    ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    RETRIEVAL_SCORE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_VECTORS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_VECTORS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    id: str
    text: str
    retrieval_score: float
    token_vectors: bytes
    token_vectors_digest: str
    def __init__(self, id: _Optional[str] = ..., text: _Optional[str] = ..., retrieval_score: _Optional[float] = ..., token_vectors: _Optional[bytes] = ..., token_vectors_digest: _Optional[str] = ...) -> None: ...

class RerankRequest(_message.Message):
    __slots__ = ("query", "candidates", "top_k")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    query: str
    candidates: _containers.RepeatedCompositeFieldContainer[Candidate]
    top_k: int
    def __init__(self, query: _Optional[str] = ..., candidates: _Optional[_Iterable[_Union[Candidate, _Mapping]]] = ..., top_k: _Optional[int] = ...) -> None: ...

class RerankResponse(_message.Message):
    __slots__ = ("results", "model")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[RerankResult]
    model: str
    def __init__(self, results: _Optional[_Iterable[_Union[RerankResult, _Mapping]]] = ..., model: _Optional[str] = ...) -> None: ...

class RerankResult(_message.Message):
    __slots__ = ("id", "score", "model_score")
    ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    MODEL_SCORE_FIELD_NUMBER: _ClassVar[int]
    id: str
    score: float
    model_score: float
    def __init__(self, id: _Optional[str] = ..., score: _Optional[float] = ..., model_score: _Optional[float] = ...) -> None: ...

class AttributeRequest(_message.Message):
    __slots__ = ("sentences", "passages", "max_support")
    SENTENCES_FIELD_NUMBER: _ClassVar[int]
    PASSAGES_FIELD_NUMBER: _ClassVar[int]
    MAX_SUPPORT_FIELD_NUMBER: _ClassVar[int]
    sentences: _containers.RepeatedScalarFieldContainer[str]
    passages: _containers.RepeatedCompositeFieldContainer[Candidate]
    max_support: int
    def __init__(self, sentences: _Optional[_Iterable[str]] = ..., passages: _Optional[_Iterable[_Union[Candidate, _Mapping]]] = ..., max_support: _Optional[int] = ...) -> None: ...

class AttributeResponse(_message.Message):
    __slots__ = ("attributions", "model")
    ATTRIBUTIONS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    attributions: _containers.RepeatedCompositeFieldContainer[Attribution]
    model: str
    def __init__(self, attributions: _Optional[_Iterable[_Union[Attribution, _Mapping]]] = ..., model: _Optional[str] = ...) -> None: ...

class Attribution(_message.Message):
    __slots__ = ("support",)
    SUPPORT_FIELD_NUMBER: _ClassVar[int]
    support: _containers.RepeatedCompositeFieldContainer[Support]
    def __init__(self, support: _Optional[_Iterable[_Union[Support, _Mapping]]] = ...) -> None: ...

class Support(_message.Message):
    __slots__ = ("passage_id", "score", "span", "supported")
    PASSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    SPAN_FIELD_NUMBER: _ClassVar[int]
    SUPPORTED_FIELD_NUMBER: _ClassVar[int]
    passage_id: str
    score: float
    span: _span_pb2.Span
    supported: bool
    def __init__(self, passage_id: _Optional[str] = ..., score: _Optional[float] = ..., span: _Optional[_Union[_span_pb2.Span, _Mapping]] = ..., supported: _Optional[bool] = ...) -> None: ...

class GetModelRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetModelResponse(_message.Message):
    __slots__ = ("model", "order_share", "token_vectors_digest")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    ORDER_SHARE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_VECTORS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    model: str
    order_share: float
    token_vectors_digest: str
    def __init__(self, model: _Optional[str] = ..., order_share: _Optional[float] = ..., token_vectors_digest: _Optional[str] = ...) -> None: ...
