"""Values of the reranker service."""

from dataclasses import dataclass

from citemesh.text.span import Span


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage to judge; ids are the caller's."""

    id: str
    text: str
    retrieval_score: float | None = None
    token_vectors: bytes = b""
    token_vectors_digest: str = ""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A judged passage, scores higher is better."""

    id: str
    score: float
    model_score: float


@dataclass(frozen=True, slots=True)
class Judge:
    """The reranker's model: its share in the order, 0 to 1, and the hash of the token vectors that it can use."""

    name: str
    order_share: float
    token_vectors_digest: str = ""


@dataclass(frozen=True, slots=True)
class Support:
    """One passage's support of a sentence: span in the passage's text, score 0 to 1, and whether that is enough."""

    passage_id: str
    score: float
    span: Span
    supported: bool
