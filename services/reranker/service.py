"""RerankerService over an engine."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import grpc

from citemesh.api.reranker.v1 import reranker_service_pb2 as pb
from citemesh.api.reranker.v1 import reranker_service_pb2_grpc as pb_grpc
from citemesh.kit import telemetry
from citemesh.kit.call_context import current_priority, remaining_s
from services.reranker import convert
from services.reranker.blend import rank
from services.reranker.engine import Alive, Candidate, Engine, Stored
from services.reranker.metrics import passages as judged
from services.reranker.pool import WorkPool

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
        self, engine: Engine, pool: WorkPool, *, blend_weight: float, threshold: float, timeout_s: float
    ) -> None:
        self._engine = engine
        self._pool = pool
        self._blend_weight = blend_weight
        self._threshold = threshold
        self._timeout_s = timeout_s

    async def Rerank(self, request: pb.RerankRequest, context: Context) -> pb.RerankResponse:
        """Orders passages."""
        query, candidates = convert.query(request), convert.candidates(request, self._engine.stored_form)
        top_k = convert.top_k(request)
        texts, stored = _parts(candidates)
        with _tracer.start_as_current_span("citemesh.rerank") as span:
            span.set_attribute("citemesh.candidates", len(texts))
            if self._asks_model(candidates):
                scores = await self._run("reranking", lambda alive: self._engine.relevance(query, texts, alive, stored))
            else:
                scores = [0.0] * len(candidates)
        return convert.rerank_response(rank(candidates, scores, self._blend_weight, top_k), self._engine.name)

    async def GetModel(self, request: pb.GetModelRequest, context: Context) -> pb.GetModelResponse:
        """Says which model judges."""
        return convert.model_response(self._engine.name, self._blend_weight, self._engine.stored_form)

    def _asks_model(self, candidates: Sequence[Candidate]) -> bool:
        """Whether the order needs the model: it has a share, or nothing else is known."""
        return self._blend_weight > 0 or all(one.retrieval_score is None for one in candidates)

    async def Attribute(self, request: pb.AttributeRequest, context: Context) -> pb.AttributeResponse:
        """Finds what supports each sentence."""
        sentences, passages = convert.sentences(request), convert.passages(request, self._engine.stored_form)
        most = convert.max_support(request)
        texts, stored = _parts(passages)
        with _tracer.start_as_current_span("citemesh.attribute") as span:
            span.set_attribute("citemesh.sentences", len(sentences))
            span.set_attribute("citemesh.candidates", len(texts))
            found = await self._run(
                "checking support", lambda alive: self._engine.support(sentences, texts, alive, stored)
            )
        return convert.attribute_response(found, passages, most, self._threshold, self._engine.name)

    async def _run(self, what: str, work: Callable[[Alive], T]) -> T:
        return await self._pool.run(what, work, current_priority(), remaining_s(self._timeout_s))


def _parts(candidates: Sequence[Candidate]) -> tuple[list[str], Stored]:
    """Texts, and the vectors that came with them; counts how many did."""
    stored = [candidate.vectors for candidate in candidates]
    came = sum(vectors is not None for vectors in stored)
    judged.add(came, {"citemesh.reranker.vectors": "came"})
    judged.add(len(stored) - came, {"citemesh.reranker.vectors": "missing"})
    return [candidate.text for candidate in candidates], stored
