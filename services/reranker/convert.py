"""Requests to what the engine takes, with every check of a field, and what it gives to answers."""

import math
from collections.abc import Iterable, Sequence

from citemesh.api.common.v1 import span_pb2
from citemesh.api.reranker.v1 import reranker_service_pb2 as pb
from citemesh.contract.bounds import LONGEST_CLAIM, LONGEST_QUERY, MOST_SUPPORT
from citemesh.errors import InvalidInput
from citemesh.models.tokens.token_vectors import StoredVectors, unpack
from services.reranker.engine import CandidatePassage, PassageSupport, RankedPassage, VectorForm

MAX_TEXT = 65536
MAX_CANDIDATES = 1000
MAX_SENTENCES = 256
MAX_PASSAGES = 256
DEFAULT_SUPPORT = 3


def query(request: pb.RerankRequest) -> str:
    """Returns the query. Raises InvalidInput where it is empty, blank or too long."""
    return _text("query", request.query, LONGEST_QUERY)


def top_k(request: pb.RerankRequest) -> int:
    """Returns the most to answer, 0 for all. Raises InvalidInput."""
    return _within("top_k", request.top_k, 0, MAX_CANDIDATES)


def max_support(request: pb.AttributeRequest) -> int:
    """Returns the most passages to answer for a sentence. Raises InvalidInput."""
    return _within("max_support", request.max_support, 0, MOST_SUPPORT) or DEFAULT_SUPPORT


def candidates(request: pb.RerankRequest, form: VectorForm | None) -> list[CandidatePassage]:
    """Returns the candidates of a Rerank. Raises InvalidInput.

    Args:
        form: the token vectors that the engine can use; others are left out.
    """
    return _candidates("candidates", request.candidates, MAX_CANDIDATES, form)


def passages(request: pb.AttributeRequest, form: VectorForm | None) -> list[CandidatePassage]:
    """Returns the passages of an Attribute, as `candidates` does. Raises InvalidInput."""
    return _candidates("passages", request.passages, MAX_PASSAGES, form)


def sentences(request: pb.AttributeRequest) -> list[str]:
    """Returns the sentences of an Attribute. Raises InvalidInput where there are none, or one is empty."""
    _count("sentences", len(request.sentences), 1, MAX_SENTENCES)
    return [
        _text(f"sentences[{n}]", sentence, LONGEST_CLAIM, blank=True) for n, sentence in enumerate(request.sentences)
    ]


def rerank_response(ranked: Iterable[RankedPassage], model: str) -> pb.RerankResponse:
    """Returns the answer of Rerank."""
    results = [pb.RerankResult(id=r.id, score=r.score, model_score=r.model_score) for r in ranked]
    return pb.RerankResponse(results=results, model=model)


def attribute_response(
    supports: Iterable[Sequence[PassageSupport]],
    passages: Sequence[CandidatePassage],
    most: int,
    threshold: float,
    model: str,
) -> pb.AttributeResponse:
    """Returns the answer of Attribute: the best `most` of each sentence."""
    attributions = [
        pb.Attribution(support=[_support(support, passages, threshold) for support in of_sentence[:most]])
        for of_sentence in supports
    ]
    return pb.AttributeResponse(attributions=attributions, model=model)


def model_response(name: str, share: float, form: VectorForm | None) -> pb.GetModelResponse:
    """Returns the answer of GetModel; `form` says which token vectors the engine can use."""
    return pb.GetModelResponse(model=name, order_share=share, token_vectors_digest=form.digest if form else "")


def _support(support: PassageSupport, passages: Sequence[CandidatePassage], threshold: float) -> pb.Support:
    return pb.Support(
        passage_id=passages[support.passage].id,
        score=support.score,
        span=span_pb2.Span(start=support.start, end=support.end),
        supported=support.score >= threshold,
    )


def _candidates(
    field: str, messages: Sequence[pb.Candidate], most: int, form: VectorForm | None
) -> list[CandidatePassage]:
    _count(field, len(messages), 0, most)
    numbers: dict[str, int] = {}
    candidates = []
    for n, message in enumerate(messages):
        if not message.id:
            raise InvalidInput(f"{field}[{n}].id", "is empty", "give every passage an id of its own")
        if message.id in numbers:
            fault = f"{message.id!r} is the id of {field}[{numbers[message.id]}] too"
            raise InvalidInput(f"{field}[{n}].id", fault, "give every passage an id of its own")
        numbers[message.id] = n
        candidates.append(_candidate(f"{field}[{n}]", message, form))
    return candidates


def _candidate(field: str, message: pb.Candidate, form: VectorForm | None) -> CandidatePassage:
    text = _text(f"{field}.text", message.text, MAX_TEXT, blank=True)
    vectors = _vectors(f"{field}.token_vectors", message, form)
    if not message.HasField("retrieval_score"):
        return CandidatePassage(message.id, text, None, vectors)
    if not math.isfinite(message.retrieval_score):
        fault = f"is {message.retrieval_score}"
        raise InvalidInput(f"{field}.retrieval_score", fault, "send a finite number or leave it out")
    return CandidatePassage(message.id, text, message.retrieval_score, vectors)


def _vectors(field: str, message: pb.Candidate, form: VectorForm | None) -> StoredVectors | None:
    """Returns the candidate's token vectors; None where there are none, or another model's, which mean nothing here."""
    if not message.token_vectors or form is None or message.token_vectors_digest != form.digest:
        return None
    try:
        vectors = unpack(message.token_vectors, len(message.text))
    except ValueError as error:
        raise InvalidInput(field, str(error), "send them as retrieval answered them, or leave them out") from None
    if vectors.codes.shape[1] != form.dimensions:
        fault = f"has vectors of {vectors.codes.shape[1]} dimensions, and {form.dimensions} are wanted"
        raise InvalidInput(field, fault, "send them as retrieval answered them, or leave them out")
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
