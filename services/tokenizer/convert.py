"""Messages to plain values and back; what a message may hold is checked here."""

from collections.abc import Sequence

from citemesh.api.common.v1 import span_pb2
from citemesh.api.tokenizer.v1 import tokenizer_service_pb2 as pb
from citemesh.errors import InvalidInput
from services.tokenizer.engine import Facts, Prompt, Tokens, Turn

MIB = 1 << 20
MAX_TEXT_BYTES = 16 * MIB
MAX_TEXTS = 4096
MAX_TURNS = 1024
ROLES = ("system", "user", "assistant")
PIECE_TOKENS = (8, 32768)


def texts(request: pb.EncodeRequest) -> list[str]:
    """Return the texts of a request. Raises InvalidInput for none, too many or too large."""
    found = list(request.texts)
    _check_count("texts", len(found), MAX_TEXTS)
    _check_size("texts", found)
    _check_not_negative("max_tokens", request.max_tokens)
    return found


def sequences(request: pb.DecodeRequest) -> list[list[int]]:
    """Return the sequences of a request. Raises InvalidInput for none or too many."""
    _check_count("sequences", len(request.sequences), MAX_TEXTS)
    return [list(sequence.ids) for sequence in request.sequences]


def turns(request: pb.RenderChatRequest) -> list[Turn]:
    """Return the turns of a conversation. Raises InvalidInput for none, too many, too large or an unknown role."""
    _check_count("messages", len(request.messages), MAX_TURNS)
    for number, message in enumerate(request.messages):
        if message.role not in ROLES:
            raise InvalidInput(f"messages[{number}].role", f"{message.role!r} is no role", f"use {', '.join(ROLES)}")
    _check_size("messages", [message.content for message in request.messages])
    return [Turn(message.role, message.content) for message in request.messages]


def check_split(request: pb.SplitRequest) -> None:
    """Check what a text is to be split into. Raises InvalidInput."""
    _check_size("text", [request.text])
    least, most = PIECE_TOKENS
    if not least <= request.max_tokens <= most:
        raise InvalidInput("max_tokens", f"{request.max_tokens} is out of range", f"use {least} to {most}")
    if not 0 <= request.overlap_tokens <= request.max_tokens // 2:
        fault = f"{request.overlap_tokens} is out of range"
        raise InvalidInput("overlap_tokens", fault, "use 0 to half of max_tokens")


def framed(tokens: Tokens, facts: Facts, add_special_tokens: bool, max_tokens: int) -> tuple[Tokens, bool]:
    """Return tokens with the model's start and end tokens where wanted, cut to max_tokens; and whether it was cut."""
    prefix, suffix = (facts.prefix, facts.suffix) if add_special_tokens else ((), ())
    capacity = max(0, max_tokens - len(prefix) - len(suffix)) if max_tokens else len(tokens.ids)
    spans = tokens.spans[:capacity]
    if tokens.spans:
        end = spans[-1][1] if spans else 0
        spans = [*((0, 0) for _ in prefix), *spans, *((end, end) for _ in suffix)]
    ids = [*prefix, *tokens.ids[:capacity], *suffix]
    ids = ids[:max_tokens] if max_tokens else ids
    return Tokens(ids, spans[: len(ids)], tokens.unknown), len(tokens.ids) > capacity


def check_specials(facts: Facts, add_special_tokens: bool, max_tokens: int) -> None:
    """Check that the start and end tokens leave room for text. Raises InvalidInput."""
    frame = len(facts.prefix) + len(facts.suffix) if add_special_tokens else 0
    if 0 < max_tokens <= frame:
        raise InvalidInput(
            "max_tokens", f"{max_tokens} leaves no room beside {frame} start and end tokens", f"use {frame + 1} or more"
        )


def encoded(found: Sequence[tuple[Tokens, bool]], facts: Facts) -> pb.EncodeResponse:
    """Return the answer to Encode."""
    response = pb.EncodeResponse(tokenizer=facts.name, tokenizer_digest=facts.digest)
    for tokens, truncated in found:
        sequence = response.sequences.add(truncated=truncated, unknown_tokens=tokens.unknown)
        sequence.ids.extend(tokens.ids)
        sequence.spans.extend(span_pb2.Span(start=start, end=end) for start, end in tokens.spans)
    return response


def rendered(prompt: Prompt, facts: Facts) -> pb.RenderChatResponse:
    """Return the answer to RenderChat."""
    return pb.RenderChatResponse(text=prompt.text, ids=prompt.ids, tokenizer_digest=facts.digest)


def piece(text: str, start: int, end: int, tokens: int) -> pb.Piece:
    """Return a piece of a text."""
    return pb.Piece(span=span_pb2.Span(start=start, end=end), text=text[start:end], tokens=tokens)


def info(facts: Facts) -> pb.TokenizerInfo:
    """Return what is known of a tokenizer."""
    return pb.TokenizerInfo(
        name=facts.name,
        digest=facts.digest,
        vocabulary_size=facts.vocabulary_size,
        max_tokens=facts.max_tokens,
        has_chat_template=facts.has_chat_template,
    )


def check_answer(size: int, limit_mib: int, field: str) -> None:
    """Check that an answer fits a message, as gRPC would only say that it doesn't. Raises InvalidInput."""
    if size > limit_mib * MIB:
        fault = f"the answer would take {size / MIB:.0f} MiB, over the limit of {limit_mib} MiB"
        raise InvalidInput(field, fault, "ask for less at a time, or without spans")


def _check_count(field: str, count: int, most: int) -> None:
    if not count:
        raise InvalidInput(field, "there are none", "send at least one")
    if count > most:
        raise InvalidInput(field, f"there are {count}, over the limit of {most}", "send them in several requests")


def _check_size(field: str, found: Sequence[str]) -> None:
    if sum(map(len, found)) * 4 <= MAX_TEXT_BYTES:
        return
    size = sum(len(text.encode()) for text in found)
    if size > MAX_TEXT_BYTES:
        fault = f"{size} bytes of UTF-8 are over the limit of {MAX_TEXT_BYTES}"
        raise InvalidInput(field, fault, "send it in several requests")


def _check_not_negative(field: str, value: int) -> None:
    if value < 0:
        raise InvalidInput(field, f"{value} is negative", "use 0 for no limit, or a positive number")
