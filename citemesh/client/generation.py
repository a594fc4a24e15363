"""Client of the generation service."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from citemesh.api.generation.v1 import generation_service_pb2 as pb
from citemesh.api.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from citemesh.client import convert
from citemesh.client.transport.caller import Caller
from citemesh.client.types import Delta, Model, Sampling

GENERATE_TIMEOUT_S = 600.0


class GenerationClient:
    """Runs the language model."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = GenerationServiceStub(caller.channel)

    async def generate(
        self, ids: Sequence[int], digest: str = "", sampling: Sampling | None = None, model: str = ""
    ) -> AsyncIterator[Delta]:
        """Streams what the model writes after a prompt of token ids. Closing the iteration aborts the request."""
        request = pb.GenerateRequest(
            model=model,
            tokens=pb.TokenPrompt(ids=ids, tokenizer_digest=digest),
            sampling=_sampling(sampling or Sampling()),
        )
        calls = self._caller.stream(self._stub.Generate, request, GENERATE_TIMEOUT_S)
        async with aclosing(calls) as responses:  # type: ignore[type-var]  # it is an async generator
            async for message in responses:
                yield _delta(message)

    async def list(self) -> tuple[Model, ...]:
        """Returns the models that are loaded; the first is the default."""
        answer = await self._caller.unary(self._stub.ListModels, pb.ListModelsRequest())
        return tuple(
            Model(m.name, m.max_tokens, m.tokenizer_digest, m.engine, m.running_requests, m.waiting_requests)
            for m in answer.models
        )


def _sampling(value: Sampling) -> pb.Sampling:
    return pb.Sampling(
        temperature=value.temperature,
        top_p=value.top_p,
        max_tokens=value.max_tokens,
        stop=value.stop,
        seed=value.seed,
        repetition_penalty=value.repetition_penalty,
        json_schema=value.json_schema,
        grammar=value.grammar,
    )


def _delta(message: pb.GenerateResponse) -> Delta:
    if not message.finish_reason:
        return Delta(message.text, tuple(message.token_ids))
    finish = pb.FinishReason.Name(message.finish_reason).removeprefix("FINISH_REASON_").lower()
    return Delta(message.text, tuple(message.token_ids), finish, convert.usage(message.usage))
