"""Client of the reranker service."""

from collections.abc import Sequence

from citemesh.api.reranker.v1 import reranker_service_pb2 as pb
from citemesh.api.reranker.v1.reranker_service_pb2_grpc import RerankerServiceStub
from citemesh.client import convert
from citemesh.client.transport.caller import Caller
from citemesh.client.types import Candidate, Judge, Ranked, Support


class RerankerClient:
    """Judges passages."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = RerankerServiceStub(caller.channel)

    async def rerank(self, query: str, candidates: Sequence[Candidate], top_k: int = 0) -> tuple[Ranked, ...]:
        """Returns candidates, best first; top_k 0 returns all."""
        request = pb.RerankRequest(query=query, candidates=map(convert.candidate, candidates), top_k=top_k)
        answer = await self._caller.unary(self._stub.Rerank, request)
        return tuple(Ranked(r.id, r.score, r.model_score) for r in answer.results)

    async def attribute(
        self, sentences: Sequence[str], passages: Sequence[Candidate], max_support: int = 3
    ) -> tuple[tuple[Support, ...], ...]:
        """Returns for each sentence the passages that support it, best first."""
        request = pb.AttributeRequest(
            sentences=sentences, passages=map(convert.candidate, passages), max_support=max_support
        )
        answer = await self._caller.unary(self._stub.Attribute, request)
        return tuple(tuple(map(_support, attribution.support)) for attribution in answer.attributions)

    async def model(self) -> Judge:
        """Returns the model that judges. Raises NotSupported where the service is too old to say."""
        answer = await self._caller.unary(self._stub.GetModel, pb.GetModelRequest())
        return Judge(answer.model, answer.order_share, answer.token_vectors_digest)


def _support(message: pb.Support) -> Support:
    return Support(message.passage_id, message.score, convert.span(message.span), message.supported)
