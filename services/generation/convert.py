"""Messages to plain values and back; what a message may hold is checked here."""

import json
import math

from citemesh.api.common.v1 import usage_pb2
from citemesh.api.generation.v1 import generation_service_pb2 as pb
from citemesh.errors import InvalidInput, NotFound, PreconditionFailed
from services.generation.engine import AnswerPart, EngineState, Finish, ModelFacts, SamplingOptions, Work

MAX_TEXT = 1 << 20
MAX_STOPS = 16
MAX_SCHEMA = 16384
FINISH = {
    None: pb.FINISH_REASON_UNSPECIFIED,
    Finish.STOP: pb.FINISH_REASON_STOP,
    Finish.LENGTH: pb.FINISH_REASON_LENGTH,
    Finish.ABORT: pb.FINISH_REASON_ABORT,
}


def work(request: pb.GenerateRequest, facts: ModelFacts, default_max_tokens: int, priority: int) -> Work:
    """Reads a request.

    Raises:
        NotFound: the model isn't the loaded one.
        PreconditionFailed: another tokenizer than the model's made the ids.
        InvalidInput: no prompt, or a value out of range.
    """
    if request.model not in ("", facts.name):
        raise NotFound("model", request.model, f"loaded is {facts.name}")
    return Work(prompt(request, facts), sampling(request.sampling, default_max_tokens), priority)


def prompt(request: pb.GenerateRequest, facts: ModelFacts) -> tuple[int, ...] | str:
    """Returns the prompt of a request; the errors are those of work."""
    kind = request.WhichOneof("prompt")
    if kind is None:
        raise InvalidInput("prompt", "there is none", "send tokens or text")
    if kind == "text":
        if len(request.text) > MAX_TEXT:
            raise InvalidInput("text", f"{len(request.text)} characters are over the limit of {MAX_TEXT}", "send less")
        return request.text
    check_digest(request.tokens.tokenizer_digest, facts)
    return tuple(request.tokens.ids)


def check_digest(digest: str, facts: ModelFacts) -> None:
    """Checks that the model's own tokenizer made the ids. Raises PreconditionFailed."""
    if digest not in ("", facts.tokenizer_digest):
        raise PreconditionFailed(
            "TOKENIZER_MISMATCH",
            f"the ids were made by tokenizer {digest[:12]}, the model's is {facts.tokenizer_digest[:12]}",
            "tokenize again with the model's own tokenizer",
        )


def sampling(message: pb.Sampling, default_max_tokens: int) -> SamplingOptions:
    """Reads the sampling options; zeros take the defaults. Raises InvalidInput for a value out of range."""
    check_range("temperature", message.temperature, 2.0)
    check_range("top_p", message.top_p, 1.0)
    check_range("repetition_penalty", message.repetition_penalty, 2.0)
    if message.max_tokens < 0:
        raise InvalidInput("sampling.max_tokens", f"{message.max_tokens} is negative", "use 1 and up, or 0")
    if len(message.stop) > MAX_STOPS:
        raise InvalidInput("sampling.stop", f"there are {len(message.stop)}", f"send at most {MAX_STOPS}")
    for number, text in enumerate(message.stop):
        if not text:
            raise InvalidInput(f"sampling.stop[{number}]", "it is empty", "leave it out")
    return SamplingOptions(
        temperature=message.temperature,
        top_p=message.top_p or 1.0,
        max_tokens=message.max_tokens or default_max_tokens,
        stop=tuple(message.stop),
        seed=message.seed if message.HasField("seed") else None,
        repetition_penalty=message.repetition_penalty or 1.0,
        json_schema=check_schema(message.json_schema),
        grammar=check_grammar(message),
    )


def check_grammar(message: pb.Sampling) -> str:
    """Returns a grammar as it came; the engine reads it. Raises InvalidInput where it is too long or one of two."""
    field = "sampling.grammar"
    if len(message.grammar) > MAX_SCHEMA:
        fault = f"{len(message.grammar)} characters are over the limit of {MAX_SCHEMA}"
        raise InvalidInput(field, fault, "send a shorter one")
    if message.grammar and message.json_schema:
        raise InvalidInput(field, "it comes together with json_schema", "send one of them")
    return message.grammar


def check_schema(text: str) -> str:
    """Returns a JSON schema as it came. Raises InvalidInput where it is too long or no JSON object."""
    field = "sampling.json_schema"
    if len(text) > MAX_SCHEMA:
        raise InvalidInput(field, f"{len(text)} characters are over the limit of {MAX_SCHEMA}", "send a shorter one")
    try:
        schema = json.loads(text or "{}")
    except (ValueError, RecursionError):
        raise InvalidInput(field, "it is no JSON", "send a JSON schema") from None
    if not isinstance(schema, dict):
        raise InvalidInput(field, "it is no JSON object", "send a JSON schema")
    return text


def check_range(field: str, value: float, most: float) -> None:
    """Checks that a number is from 0 to most. Raises InvalidInput."""
    if not math.isfinite(value) or not 0 <= value <= most:
        raise InvalidInput(f"sampling.{field}", f"{value:g} is out of range", f"use 0 to {most:g}")


def response(delta: AnswerPart) -> pb.GenerateResponse:
    """Returns a part of an answer as a message."""
    message = pb.GenerateResponse(text=delta.text, token_ids=delta.ids, finish_reason=FINISH[delta.finish])
    if delta.usage is not None:
        message.usage.CopyFrom(
            usage_pb2.Usage(
                prompt_tokens=delta.usage.prompt_tokens,
                completion_tokens=delta.usage.completion_tokens,
                cached_tokens=delta.usage.cached_tokens,
            )
        )
    return message


def model(facts: ModelFacts, state: EngineState) -> pb.ModelInfo:
    """Returns what is known of the model and its engine."""
    return pb.ModelInfo(
        name=facts.name,
        max_tokens=facts.max_tokens,
        tokenizer_digest=facts.tokenizer_digest,
        engine=facts.engine,
        running_requests=state.running,
        waiting_requests=state.waiting,
    )
