from citemesh.api.common.v1 import span_pb2 as _span_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EncodeRequest(_message.Message):
    __slots__ = ("tokenizer", "texts", "add_special_tokens", "max_tokens", "with_spans")
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    ADD_SPECIAL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    WITH_SPANS_FIELD_NUMBER: _ClassVar[int]
    tokenizer: str
    texts: _containers.RepeatedScalarFieldContainer[str]
    add_special_tokens: bool
    max_tokens: int
    with_spans: bool
    def __init__(self, tokenizer: _Optional[str] = ..., texts: _Optional[_Iterable[str]] = ..., add_special_tokens: _Optional[bool] = ..., max_tokens: _Optional[int] = ..., with_spans: _Optional[bool] = ...) -> None: ...

class EncodeResponse(_message.Message):
    __slots__ = ("sequences", "tokenizer", "tokenizer_digest")
    SEQUENCES_FIELD_NUMBER: _ClassVar[int]
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    TOKENIZER_DIGEST_FIELD_NUMBER: _ClassVar[int]
    sequences: _containers.RepeatedCompositeFieldContainer[TokenSequence]
    tokenizer: str
    tokenizer_digest: str
    def __init__(self, sequences: _Optional[_Iterable[_Union[TokenSequence, _Mapping]]] = ..., tokenizer: _Optional[str] = ..., tokenizer_digest: _Optional[str] = ...) -> None: ...

class TokenSequence(_message.Message):
    __slots__ = ("ids", "spans", "truncated", "unknown_tokens")
    IDS_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_TOKENS_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[int]
    spans: _containers.RepeatedCompositeFieldContainer[_span_pb2.Span]
    truncated: bool
    unknown_tokens: int
    def __init__(self, ids: _Optional[_Iterable[int]] = ..., spans: _Optional[_Iterable[_Union[_span_pb2.Span, _Mapping]]] = ..., truncated: _Optional[bool] = ..., unknown_tokens: _Optional[int] = ...) -> None: ...

class EncodeStreamRequest(_message.Message):
    __slots__ = ("tokenizer", "text", "add_special_tokens")
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ADD_SPECIAL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    tokenizer: str
    text: str
    add_special_tokens: bool
    def __init__(self, tokenizer: _Optional[str] = ..., text: _Optional[str] = ..., add_special_tokens: _Optional[bool] = ...) -> None: ...

class EncodeStreamResponse(_message.Message):
    __slots__ = ("sequence",)
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    sequence: TokenSequence
    def __init__(self, sequence: _Optional[_Union[TokenSequence, _Mapping]] = ...) -> None: ...

class DecodeRequest(_message.Message):
    __slots__ = ("tokenizer", "sequences", "skip_special_tokens")
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    SEQUENCES_FIELD_NUMBER: _ClassVar[int]
    SKIP_SPECIAL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    tokenizer: str
    sequences: _containers.RepeatedCompositeFieldContainer[TokenIds]
    skip_special_tokens: bool
    def __init__(self, tokenizer: _Optional[str] = ..., sequences: _Optional[_Iterable[_Union[TokenIds, _Mapping]]] = ..., skip_special_tokens: _Optional[bool] = ...) -> None: ...

class TokenIds(_message.Message):
    __slots__ = ("ids",)
    IDS_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, ids: _Optional[_Iterable[int]] = ...) -> None: ...

class DecodeResponse(_message.Message):
    __slots__ = ("texts",)
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    texts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, texts: _Optional[_Iterable[str]] = ...) -> None: ...

class ChatMessage(_message.Message):
    __slots__ = ("role", "content")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    role: str
    content: str
    def __init__(self, role: _Optional[str] = ..., content: _Optional[str] = ...) -> None: ...

class RenderChatRequest(_message.Message):
    __slots__ = ("tokenizer", "messages", "add_generation_prompt")
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    ADD_GENERATION_PROMPT_FIELD_NUMBER: _ClassVar[int]
    tokenizer: str
    messages: _containers.RepeatedCompositeFieldContainer[ChatMessage]
    add_generation_prompt: bool
    def __init__(self, tokenizer: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[ChatMessage, _Mapping]]] = ..., add_generation_prompt: _Optional[bool] = ...) -> None: ...

class RenderChatResponse(_message.Message):
    __slots__ = ("text", "ids", "tokenizer_digest")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    TOKENIZER_DIGEST_FIELD_NUMBER: _ClassVar[int]
    text: str
    ids: _containers.RepeatedScalarFieldContainer[int]
    tokenizer_digest: str
    def __init__(self, text: _Optional[str] = ..., ids: _Optional[_Iterable[int]] = ..., tokenizer_digest: _Optional[str] = ...) -> None: ...

class SplitRequest(_message.Message):
    __slots__ = ("tokenizer", "text", "max_tokens", "overlap_tokens")
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_TOKENS_FIELD_NUMBER: _ClassVar[int]
    tokenizer: str
    text: str
    max_tokens: int
    overlap_tokens: int
    def __init__(self, tokenizer: _Optional[str] = ..., text: _Optional[str] = ..., max_tokens: _Optional[int] = ..., overlap_tokens: _Optional[int] = ...) -> None: ...

class SplitResponse(_message.Message):
    __slots__ = ("pieces",)
    PIECES_FIELD_NUMBER: _ClassVar[int]
    pieces: _containers.RepeatedCompositeFieldContainer[Piece]
    def __init__(self, pieces: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ...) -> None: ...

class Piece(_message.Message):
    __slots__ = ("span", "text", "tokens")
    SPAN_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    span: _span_pb2.Span
    text: str
    tokens: int
    def __init__(self, span: _Optional[_Union[_span_pb2.Span, _Mapping]] = ..., text: _Optional[str] = ..., tokens: _Optional[int] = ...) -> None: ...

class ListTokenizersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListTokenizersResponse(_message.Message):
    __slots__ = ("tokenizers",)
    TOKENIZERS_FIELD_NUMBER: _ClassVar[int]
    tokenizers: _containers.RepeatedCompositeFieldContainer[TokenizerInfo]
    def __init__(self, tokenizers: _Optional[_Iterable[_Union[TokenizerInfo, _Mapping]]] = ...) -> None: ...

class TokenizerInfo(_message.Message):
    __slots__ = ("name", "digest", "vocabulary_size", "max_tokens", "has_chat_template")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    VOCABULARY_SIZE_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    HAS_CHAT_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    name: str
    digest: str
    vocabulary_size: int
    max_tokens: int
    has_chat_template: bool
    def __init__(self, name: _Optional[str] = ..., digest: _Optional[str] = ..., vocabulary_size: _Optional[int] = ..., max_tokens: _Optional[int] = ..., has_chat_template: _Optional[bool] = ...) -> None: ...

class AlignRequest(_message.Message):
    __slots__ = ("text", "from_tokenizer", "to_tokenizer")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FROM_TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    TO_TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    text: str
    from_tokenizer: str
    to_tokenizer: str
    def __init__(self, text: _Optional[str] = ..., from_tokenizer: _Optional[str] = ..., to_tokenizer: _Optional[str] = ...) -> None: ...

class AlignResponse(_message.Message):
    __slots__ = ("tokens",)
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    tokens: _containers.RepeatedCompositeFieldContainer[AlignedToken]
    def __init__(self, tokens: _Optional[_Iterable[_Union[AlignedToken, _Mapping]]] = ...) -> None: ...

class AlignedToken(_message.Message):
    __slots__ = ("from_index", "to_start", "to_end")
    FROM_INDEX_FIELD_NUMBER: _ClassVar[int]
    TO_START_FIELD_NUMBER: _ClassVar[int]
    TO_END_FIELD_NUMBER: _ClassVar[int]
    from_index: int
    to_start: int
    to_end: int
    def __init__(self, from_index: _Optional[int] = ..., to_start: _Optional[int] = ..., to_end: _Optional[int] = ...) -> None: ...
