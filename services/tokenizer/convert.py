"""Requests to plain values, with every check of a field, and plain values to answers."""

from collections.abc import Sequence

from citemesh.api.common.v1 import span_pb2
from citemesh.api.tokenizer.v1 import tokenizer_service_pb2 as pb
from citemesh.errors import InvalidInput
from services.tokenizer.engine import ChatPrompt, ChatTurn, TokenizedText, TokenizerFacts

MIB = 1 << 20
MAX_TEXT_BYTES = 16 * MIB
MAX_TEXTS = 4096
MAX_TURNS = 1024
ROLES = ("system", "user", "assistant")
PIECE_TOKENS = (8, 32768)


def texts(request: pb.EncodeRequest) -> list[str]:
    """Returns the texts of a request. Raises InvalidInput for none, too many or too large."""
    texts = list(request.texts)
    _check_count("texts", len(texts), MAX_TEXTS)
    _check_size("texts", texts)
    _check_not_negative("max_tokens", request.max_tokens)
    return texts


def sequences(request: pb.DecodeRequest) -> list[list[int]]:
    """Returns the sequences of a request. Raises InvalidInput for none or too many."""
    _check_count("sequences", len(request.sequences), MAX_TEXTS)
    return [list(sequence.ids) for sequence in request.sequences]


def turns(request: pb.RenderChatRequest) -> list[ChatTurn]:
    """Returns the turns of a conversation. Raises InvalidInput for none, too many, too large or an unknown role."""
    _check_count("messages", len(request.messages), MAX_TURNS)
    for number, message in enumerate(request.messages):
        if message.role not in ROLES:
            raise InvalidInput(f"messages[{number}].role", f"{message.role!r} is no role", f"use {', '.join(ROLES)}")
    _check_size("messages", [message.content for message in request.messages])
    return [ChatTurn(message.role, message.content) for message in request.messages]


def check_split(request: pb.SplitRequest) -> None:
    """Raises InvalidInput for a text that is too large, or sizes of pieces out of range."""
    _check_size("text", [request.text])
    least, most = PIECE_TOKENS
    if not least <= request.max_tokens <= most:
        raise InvalidInput("max_tokens", f"{request.max_tokens} is out of range", f"use {least} to {most}")
    if not 0 <= request.overlap_tokens <= request.max_tokens // 2:
        fault = f"{request.overlap_tokens} is out of range"
        raise InvalidInput("overlap_tokens", fault, "use 0 to half of max_tokens")


def framed(
    tokens: TokenizedText, facts: TokenizerFacts, add_special_tokens: bool, max_tokens: int
) -> tuple[TokenizedText, bool]:
    """Returns tokens within the model's start and end tokens where these are to be added, and whether they were cut.

    All of them together are at most max_tokens; 0 takes any number.
    """
    prefix, suffix = (facts.prefix, facts.suffix) if add_special_tokens else ((), ())
    capacity = max(0, max_tokens - len(prefix) - len(suffix)) if max_tokens else len(tokens.ids)
    spans = tokens.spans[:capacity]
    if tokens.spans:
        end = spans[-1][1] if spans else 0
        spans = [*((0, 0) for _ in prefix), *spans, *((end, end) for _ in suffix)]
    ids = [*prefix, *tokens.ids[:capacity], *suffix]
    ids = ids[:max_tokens] if max_tokens else ids
    return TokenizedText(ids, spans[: len(ids)], tokens.unknown), len(tokens.ids) > capacity


def check_specials(facts: TokenizerFacts, add_special_tokens: bool, max_tokens: int) -> None:
    """Raises InvalidInput where the start and end tokens alone would be max_tokens."""
    frame = len(facts.prefix) + len(facts.suffix) if add_special_tokens else 0
    if 0 < max_tokens <= frame:
        raise InvalidInput(
            "max_tokens", f"{max_tokens} is taken up by {frame} start and end tokens", f"use {frame + 1} or more"
        )


def encoded(sequences: Sequence[tuple[TokenizedText, bool]], facts: TokenizerFacts) -> pb.EncodeResponse:
    """Returns the answer to Encode: each sequence, and whether it was cut."""
    response = pb.EncodeResponse(tokenizer=facts.name, tokenizer_digest=facts.digest)
    for tokens, truncated in sequences:
        sequence = response.sequences.add(truncated=truncated, unknown_tokens=tokens.unknown)
        sequence.ids.extend(tokens.ids)
        sequence.spans.extend(span_pb2.Span(start=start, end=end) for start, end in tokens.spans)
    return response


def rendered(prompt: ChatPrompt, facts: TokenizerFacts) -> pb.RenderChatResponse:
    """Returns the answer to RenderChat."""
    return pb.RenderChatResponse(text=prompt.text, ids=prompt.ids, tokenizer_digest=facts.digest)


def piece(text: str, start: int, end: int, tokens: int) -> pb.Piece:
    """Returns a piece of a text."""
    return pb.Piece(span=span_pb2.Span(start=start, end=end), text=text[start:end], tokens=tokens)


def info(facts: TokenizerFacts) -> pb.TokenizerInfo:
    """Returns a tokenizer's description."""
    return pb.TokenizerInfo(
        name=facts.name,
        digest=facts.digest,
        vocabulary_size=facts.vocabulary_size,
        max_tokens=facts.max_tokens,
        has_chat_template=facts.has_chat_template,
    )


def check_answer(size: int, limit_mib: int, field: str) -> None:
    """Raises InvalidInput for an answer over a message's limit, of which gRPC would only say that it doesn't fit."""
    if size > limit_mib * MIB:
        fault = f"the answer would take {size / MIB:.0f} MiB, over the limit of {limit_mib} MiB"
        raise InvalidInput(field, fault, "ask for less at a time, or without spans")


def _check_count(field: str, count: int, most: int) -> None:
    if not count:
        raise InvalidInput(field, "there are none", "send at least one")
    if count > most:
        raise InvalidInput(field, f"there are {count}, over the limit of {most}", "send them in several requests")


def _check_size(field: str, texts: Sequence[str]) -> None:
    if sum(map(len, texts)) * 4 <= MAX_TEXT_BYTES:
        return
    size = sum(len(text.encode()) for text in texts)
    if size > MAX_TEXT_BYTES:
        fault = f"{size} bytes of UTF-8 are over the limit of {MAX_TEXT_BYTES}"
        raise InvalidInput(field, fault, "send it in several requests")


def _check_not_negative(field: str, value: int) -> None:
    if value < 0:
        raise InvalidInput(field, f"{value} is negative", "use 0 for no limit, or a positive number")
