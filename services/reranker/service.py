"""The gRPC service over an engine."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import grpc

from citemesh.api.reranker.v1 import reranker_service_pb2 as pb
from citemesh.api.reranker.v1 import reranker_service_pb2_grpc as pb_grpc
from citemesh.kit import telemetry
from citemesh.kit.call_context import current_priority, remaining_s
from services.reranker import convert
from services.reranker.blend import rank
from services.reranker.engine import Alive, CandidatePassage, RerankerEngine, TextVectors
from services.reranker.metrics import count_passages
from services.reranker.pool import RerankerPool

T = TypeVar("T")
Context = grpc.aio.ServicerContext[Any, Any]
_tracer = telemetry.tracer(__name__)


class RerankerService(pb_grpc.RerankerServiceServicer):
    """Checks requests, lets the pool run the engine, answers.

    Args:
        blend_weight: share of the engine's score in the order. threshold: score from which support counts.
        timeout_s: most seconds for a call.
    """

    def __init__(
        self, engine: RerankerEngine, pool: RerankerPool, *, blend_weight: float, threshold: float, timeout_s: float
    ) -> None:
        self._engine = engine
        self._pool = pool
        self._blend_weight = blend_weight
        self._threshold = threshold
        self._timeout_s = timeout_s

    async def Rerank(self, request: pb.RerankRequest, context: Context) -> pb.RerankResponse:
        """Orders passages."""
        query, candidates = convert.query(request), convert.candidates(request, self._engine.vector_form)
        top_k = convert.top_k(request)
        with _tracer.start_as_current_span("citemesh.rerank") as span:
            span.set_attribute("citemesh.candidates", len(candidates))
            scores = await self._scores(query, candidates)
        return convert.rerank_response(rank(candidates, scores, self._blend_weight, top_k), self._engine.name)

    async def GetModel(self, request: pb.GetModelRequest, context: Context) -> pb.GetModelResponse:
        """Says which model judges."""
        return convert.model_response(self._engine.name, self._blend_weight, self._engine.vector_form)

    async def Attribute(self, request: pb.AttributeRequest, context: Context) -> pb.AttributeResponse:
        """Finds what supports each sentence."""
        sentences, passages = convert.sentences(request), convert.passages(request, self._engine.vector_form)
        most = convert.max_support(request)
        texts, vectors = _parts(passages)
        with _tracer.start_as_current_span("citemesh.attribute") as span:
            span.set_attribute("citemesh.sentences", len(sentences))
            span.set_attribute("citemesh.candidates", len(texts))
            supports = await self._run(
                "checking support", lambda alive: self._engine.support(sentences, texts, alive, vectors)
            )
        return convert.attribute_response(supports, passages, most, self._threshold, self._engine.name)

    async def _scores(self, query: str, candidates: Sequence[CandidatePassage]) -> list[float]:
        """Returns the model's scores, or zeros where the order doesn't need them: it has no share in it."""
        texts, vectors = _parts(candidates)
        if self._blend_weight == 0 and any(candidate.retrieval_score is not None for candidate in candidates):
            return [0.0] * len(candidates)
        return await self._run("reranking", lambda alive: self._engine.relevance(query, texts, alive, vectors))

    async def _run(self, action: str, work: Callable[[Alive], T]) -> T:
        return await self._pool.run(action, work, current_priority(), remaining_s(self._timeout_s))


def _parts(candidates: Sequence[CandidatePassage]) -> tuple[list[str], TextVectors]:
    """Returns the texts, and the vectors that came with them; counts how many did."""
    vectors = [candidate.vectors for candidate in candidates]
    count_passages(len(vectors), sum(of_text is not None for of_text in vectors))
    return [candidate.text for candidate in candidates], vectors
