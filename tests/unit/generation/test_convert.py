"""What requests may hold: each error names the field, the fault and the remedy."""

import pytest

from citemesh.api.generation.v1 import generation_service_pb2 as pb
from citemesh.errors import InvalidInput, NotFound, PreconditionFailed
from services.generation import convert
from services.generation.engine import AnswerPart, EngineState, Finish, ModelFacts, SamplingOptions, TokenUsage, Work

FACTS = ModelFacts("model", 100, "d" * 64, "fake")
TOKENS = pb.TokenPrompt(ids=[1, 2, 3])


def work(**fields: object) -> Work:
    return convert.work(pb.GenerateRequest(**fields), FACTS, 512, 1)  # type: ignore[arg-type]  # fields differ a test


def test_zeros_take_the_defaults() -> None:
    assert work(tokens=TOKENS) == Work((1, 2, 3), SamplingOptions(max_tokens=512), 1)
    assert work(text="hi", model="model").prompt == "hi"


def test_values_are_passed_on() -> None:
    sampling = pb.Sampling(temperature=0.5, top_p=0.25, max_tokens=7, stop=["x", "。"], seed=0, repetition_penalty=1.5)
    assert work(tokens=TOKENS, sampling=sampling).sampling == SamplingOptions(0.5, 0.25, 7, ("x", "。"), 0, 1.5)


@pytest.mark.parametrize(
    ("sampling", "field"),
    [
        (pb.Sampling(temperature=-1), "sampling.temperature"),
        (pb.Sampling(temperature=2.5), "sampling.temperature"),
        (pb.Sampling(temperature=float("nan")), "sampling.temperature"),
        (pb.Sampling(top_p=1.5), "sampling.top_p"),
        (pb.Sampling(repetition_penalty=float("inf")), "sampling.repetition_penalty"),
        (pb.Sampling(max_tokens=-1), "sampling.max_tokens"),
        (pb.Sampling(stop=["x"] * 17), "sampling.stop"),
        (pb.Sampling(stop=["x", ""]), "sampling.stop[1]"),
        (pb.Sampling(grammar="x" * 20_000), "sampling.grammar"),
        (pb.Sampling(grammar="root ::= [a]", json_schema="{}"), "sampling.grammar"),
        (pb.Sampling(json_schema="{"), "sampling.json_schema"),
        (pb.Sampling(json_schema="[1]"), "sampling.json_schema"),
        (pb.Sampling(json_schema="[" * 10_000), "sampling.json_schema"),
        (pb.Sampling(json_schema=" " * 20_000), "sampling.json_schema"),
    ],
)
def test_values_out_of_range_are_named(sampling: pb.Sampling, field: str) -> None:
    with pytest.raises(InvalidInput) as fault:
        work(tokens=TOKENS, sampling=sampling)
    assert fault.value.field == field
    assert fault.value.remedy


def test_a_schema_is_passed_on() -> None:
    schema = '{"type": "object"}'
    assert work(tokens=TOKENS, sampling=pb.Sampling(json_schema=schema)).sampling.json_schema == schema


def test_prompts_are_there_and_fit() -> None:
    with pytest.raises(InvalidInput, match="prompt"):
        work()
    with pytest.raises(InvalidInput, match="text"):
        work(text="x" * ((1 << 20) + 1))


def test_the_model_and_its_tokenizer_must_be_the_loaded_ones() -> None:
    with pytest.raises(NotFound, match="loaded is model"):
        work(tokens=TOKENS, model="other")
    assert work(tokens=pb.TokenPrompt(ids=[1], tokenizer_digest="d" * 64)).prompt == (1,)
    with pytest.raises(PreconditionFailed) as fault:
        work(tokens=pb.TokenPrompt(ids=[1], tokenizer_digest="e" * 64))
    assert fault.value.reason == "TOKENIZER_MISMATCH"


def test_answers_carry_finish_and_usage_at_their_end() -> None:
    assert convert.response(AnswerPart("a", (1,))) == pb.GenerateResponse(text="a", token_ids=[1])
    last = convert.response(AnswerPart("", (), Finish.LENGTH, TokenUsage(3, 2, 1)))
    assert last.finish_reason == pb.FINISH_REASON_LENGTH
    assert (last.usage.prompt_tokens, last.usage.completion_tokens, last.usage.cached_tokens) == (3, 2, 1)
    info = convert.model(FACTS, EngineState(True, 2, 1))
    assert (info.engine, info.running_requests, info.waiting_requests) == ("fake", 2, 1)
