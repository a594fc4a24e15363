"""Messages to what the engine takes, checked on the way, and answers to messages."""

import math
from collections.abc import Iterable, Sequence

from citemesh.api.common.v1 import span_pb2
from citemesh.api.reranker.v1 import reranker_service_pb2 as pb
from citemesh.contract.bounds import LONGEST_CLAIM, LONGEST_QUERY, MOST_SUPPORT
from citemesh.errors import InvalidInput
from citemesh.models.tokens.token_vectors import StoredVectors, unpack
from services.reranker.engine import Candidate, Ranked, StoredForm, Support

MAX_TEXT = 65536
MAX_CANDIDATES = 1000
MAX_SENTENCES = 256
MAX_PASSAGES = 256
DEFAULT_SUPPORT = 3


def query(request: pb.RerankRequest) -> str:
    """The query. Raises InvalidInput where it is empty, blank or too long."""
    return _text("query", request.query, LONGEST_QUERY)


def top_k(request: pb.RerankRequest) -> int:
    """The most to answer, 0 for all."""
    return _within("top_k", request.top_k, 0, MAX_CANDIDATES)


def max_support(request: pb.AttributeRequest) -> int:
    """The most passages to answer for a sentence."""
    return _within("max_support", request.max_support, 0, MOST_SUPPORT) or DEFAULT_SUPPORT


def candidates(request: pb.RerankRequest, form: StoredForm | None) -> list[Candidate]:
    """The candidates of a Rerank. form: the token vectors that the engine can use; others are left out."""
    return _candidates("candidates", request.candidates, MAX_CANDIDATES, form)


def passages(request: pb.AttributeRequest, form: StoredForm | None) -> list[Candidate]:
    """The passages of an Attribute. form: as for candidates."""
    return _candidates("passages", request.passages, MAX_PASSAGES, form)


def sentences(request: pb.AttributeRequest) -> list[str]:
    """The sentences of an Attribute; one at least, none empty."""
    _count("sentences", len(request.sentences), 1, MAX_SENTENCES)
    return [
        _text(f"sentences[{n}]", sentence, LONGEST_CLAIM, blank=True) for n, sentence in enumerate(request.sentences)
    ]


def rerank_response(ranked: Iterable[Ranked], model: str) -> pb.RerankResponse:
    """The answer of Rerank."""
    results = [pb.RerankResult(id=r.id, score=r.score, model_score=r.model_score) for r in ranked]
    return pb.RerankResponse(results=results, model=model)


def attribute_response(
    found: Iterable[Sequence[Support]], passages: Sequence[Candidate], most: int, threshold: float, model: str
) -> pb.AttributeResponse:
    """The answer of Attribute: the best `most` of each sentence."""
    attributions = [
        pb.Attribution(support=[_support(support, passages, threshold) for support in supports[:most]])
        for supports in found
    ]
    return pb.AttributeResponse(attributions=attributions, model=model)


def model_response(name: str, share: float, form: StoredForm | None) -> pb.GetModelResponse:
    """The answer of GetModel. form: the token vectors that the engine can use."""
    return pb.GetModelResponse(model=name, order_share=share, token_vectors_digest=form.digest if form else "")


def _support(support: Support, passages: Sequence[Candidate], threshold: float) -> pb.Support:
    return pb.Support(
        passage_id=passages[support.passage].id,
        score=support.score,
        span=span_pb2.Span(start=support.start, end=support.end),
        supported=support.score >= threshold,
    )


def _candidates(field: str, messages: Sequence[pb.Candidate], most: int, form: StoredForm | None) -> list[Candidate]:
    _count(field, len(messages), 0, most)
    seen: dict[str, int] = {}
    made = []
    for n, message in enumerate(messages):
        if not message.id:
            raise InvalidInput(f"{field}[{n}].id", "is empty", "give every passage an id of its own")
        if message.id in seen:
            fault = f"{message.id!r} is the id of {field}[{seen[message.id]}] too"
            raise InvalidInput(f"{field}[{n}].id", fault, "give every passage an id of its own")
        seen[message.id] = n
        made.append(_candidate(f"{field}[{n}]", message, form))
    return made


def _candidate(field: str, message: pb.Candidate, form: StoredForm | None) -> Candidate:
    text = _text(f"{field}.text", message.text, MAX_TEXT, blank=True)
    vectors = _vectors(f"{field}.token_vectors", message, form)
    if not message.HasField("retrieval_score"):
        return Candidate(message.id, text, None, vectors)
    if not math.isfinite(message.retrieval_score):
        fault = f"is {message.retrieval_score}"
        raise InvalidInput(f"{field}.retrieval_score", fault, "send a finite number or leave it out")
    return Candidate(message.id, text, message.retrieval_score, vectors)


def _vectors(field: str, message: pb.Candidate, form: StoredForm | None) -> StoredVectors | None:
    """The candidate's token vectors; None where there are none, or they are of another model and so mean nothing."""
    if not message.token_vectors or form is None or message.token_vectors_digest != form.digest:
        return None
    try:
        vectors = unpack(message.token_vectors, len(message.text))
    except ValueError as fault:
        raise InvalidInput(field, str(fault), "send them as retrieval answered them, or leave them out") from None
    if vectors.codes.shape[1] != form.dimensions:
        other = f"has vectors of {vectors.codes.shape[1]} dimensions, and {form.dimensions} are wanted"
        raise InvalidInput(field, other, "send them as retrieval answered them, or leave them out")
    return vectors if len(vectors.places) else None


def _text(field: str, text: str, longest: int, *, blank: bool = False) -> str:
    if not (text if blank else text.strip()):
        raise InvalidInput(field, "is empty", f"send 1 to {longest} characters")
    if len(text) > longest:
        raise InvalidInput(field, f"has {len(text)} characters", f"send at most {longest}")
    return text


def _count(field: str, count: int, least: int, most: int) -> None:
    if not least <= count <= most:
        raise InvalidInput(field, f"has {count} entries", f"send {least} to {most}")


def _within(field: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise InvalidInput(field, f"is {value}", f"send {least} to {most}")
    return value
