"""The client of an embedding endpoint against a stand-in: faults, retries, and answers that can't be used."""

import json
from collections.abc import Iterator

import numpy as np
import pytest

from citemesh.errors import CiteMeshError, DeadlineExceeded, Overloaded, PreconditionFailed, Unavailable
from services.retrieval.embedding import endpoint as endpoints
from services.retrieval.embedding.encoder import Encoder, LateEncoder
from services.retrieval.embedding.endpoint import EmbeddingEndpoint, EndpointAddress, RetryBudget
from services.retrieval.embedding.openai_encoder import OpenAiEncoder, Prefixes
from services.retrieval.settings import RetrievalSettings
from services.retrieval.wiring.embedding import encoder_of
from tests.support.embedding_endpoint import DIMENSION, Standin, ok, saying, slow, standin, status


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Standin]:
    monkeypatch.setattr(endpoints, "_FIRST_PAUSE_S", 0.01)
    with standin() as running:
        yield running


def address(server: Standin, **changes: object) -> EndpointAddress:
    return EndpointAddress(**{"base": server.base, "model": "m", "dimension": DIMENSION, "key": "sk-secret"} | changes)  # type: ignore[arg-type]  # names differ a test


def test_vectors_come_in_the_order_of_the_texts_and_of_length_one(server: Standin) -> None:
    for server.base64 in (False, True):
        found = EmbeddingEndpoint(address(server)).vectors(["one word", "茶 🍵", "one word"])
        assert np.allclose(np.linalg.norm(found, axis=1), 1)
        assert np.array_equal(found[0], found[2])
        assert not np.allclose(found[0], found[1])
    assert server.calls[0]["path"] == "/v1/embeddings"
    assert server.calls[0]["input"] == ["one word", "茶 🍵", "one word"]
    assert server.keys[0] == "Bearer sk-secret"


def test_a_passing_fault_is_tried_again(server: Standin) -> None:
    server.faults = [status(503), status(429), status(500)]
    assert EmbeddingEndpoint(address(server)).vectors(["x"]).shape == (1, DIMENSION)
    assert len(server.calls) == 4


@pytest.mark.parametrize(
    ("code", "kind"), [(429, Overloaded), (500, Unavailable), (503, Unavailable), (408, Unavailable)]
)
def test_a_lasting_fault_is_told_after_four_tries(server: Standin, code: int, kind: type[CiteMeshError]) -> None:
    server.faults = [status(code)] * 9
    with pytest.raises(kind, match="embedding endpoint"):
        EmbeddingEndpoint(address(server)).vectors(["x"])
    assert len(server.calls) == 4


@pytest.mark.parametrize(
    ("code", "said"),
    [(401, "key"), (403, "key"), (400, "refused"), (404, "refused"), (413, "refused"), (302, "refused")],
)
def test_a_refusal_is_not_tried_again_and_repeats_no_text(server: Standin, code: int, said: str) -> None:
    server.faults = [status(code, location="http://elsewhere.example/")]
    with pytest.raises(PreconditionFailed, match=said) as refused:
        EmbeddingEndpoint(address(server)).vectors(["a private text"])
    assert len(server.calls) == 1
    told = f"{refused.value} {refused.value.remedy}"
    assert "private" not in told
    assert "sk-secret" not in told


def test_a_stated_wait_is_kept_or_told_where_it_is_over_the_deadline(server: Standin) -> None:
    server.faults = [status(429, **{"retry-after": "60"})]
    with pytest.raises(Overloaded) as refused:
        EmbeddingEndpoint(address(server, timeout_s=5)).vectors(["x"])
    assert refused.value.retry_after_s == 60
    assert len(server.calls) == 1


def test_the_deadline_ends_a_slow_call(server: Standin) -> None:
    server.faults = [slow(1.0)]
    with pytest.raises(DeadlineExceeded, match=r"0\.2 s"):
        EmbeddingEndpoint(address(server, timeout_s=0.2)).vectors(["x"])


def test_an_endpoint_that_is_not_there_is_unavailable() -> None:
    with standin() as gone:
        there = address(gone, timeout_s=2)
    with pytest.raises(Unavailable, match="ConnectError"):
        EmbeddingEndpoint(there).vectors(["x"])


def row(index: int, embedding: object) -> dict[str, object]:
    return {"index": index, "embedding": embedding}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"<html>", "not JSON"),
        (b"[]", "no vector for each"),
        (b'{"data": null}', "no vector for each"),
        (json.dumps({"data": [row(0, [1.0] * DIMENSION)]}).encode(), "each of 2"),
        (json.dumps({"data": [row(0, [1.0] * DIMENSION)] * 2}).encode(), "each of 2"),
        (json.dumps({"data": [row(0, ["a"]), row(1, ["b"])]}).encode(), "no vector for each"),
        (json.dumps({"data": [row(0, "!!"), row(1, "!!")]}).encode(), "no vector for each"),
        (json.dumps({"data": [row(0, [0.0] * DIMENSION), row(1, [1.0] * DIMENSION)]}).encode(), "zero"),
        (json.dumps({"data": [row(n, [float("nan")] * DIMENSION) for n in (0, 1)]}).encode(), "not finite"),
        (json.dumps({"data": [row(n, [1.0] * 7) for n in (0, 1)]}).encode(), "dimension 7, and 32 is set"),
    ],
)
def test_an_answer_that_cannot_be_used_says_why(server: Standin, answer: bytes, said: str) -> None:
    server.faults = [saying(answer)]
    with pytest.raises(PreconditionFailed, match=said):
        EmbeddingEndpoint(address(server)).vectors(["x", "y"])
    assert len(server.calls) == 1


def test_a_huge_answer_is_refused(server: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "_LONGEST_ANSWER", 1 << 20)
    server.faults = [saying(b" " * (2 << 20))]
    with pytest.raises(PreconditionFailed, match="1 MiB"):
        EmbeddingEndpoint(address(server)).vectors(["x"])


def test_retries_are_spent_and_earned() -> None:
    budget = RetryBudget(most=2, earned=0.5)
    assert [budget.spend() for _ in range(3)] == [True, True, False]
    budget.earn()
    assert not budget.spend()
    budget.earn()
    assert budget.spend()
    for _ in range(99):
        budget.earn()
    assert [budget.spend() for _ in range(3)] == [True, True, False]


def test_an_endpoint_that_is_down_is_asked_less(server: Standin) -> None:
    server.faults = [status(503)] * 99
    asked = EmbeddingEndpoint(address(server))
    for _ in range(10):
        with pytest.raises(Unavailable):
            asked.vectors(["x"])
    assert len(server.calls) == 10 + 10, "ten calls, and the budget's ten retries"


def test_texts_get_their_roles_prefix_and_long_queries_are_cut(server: Standin) -> None:
    encoder = OpenAiEncoder(address(server), Prefixes("query: ", "passage: "))
    encoder.embed(encoder.ids(["q" * 9000, ""], "query"))
    encoder.embed(encoder.ids(["字" * 9000], "passage"))
    assert [len(text) for text in server.calls[0]["input"]] == [8192 + 7, 7]
    assert server.calls[1]["input"] == ["passage: " + "字" * 9000]


def test_large_batches_go_in_parts(server: Standin) -> None:
    encoder: Encoder = OpenAiEncoder(address(server))
    found = encoder.embed(encoder.ids([f"text {n}" for n in range(150)], "passage"))
    assert found.shape == (150, DIMENSION)
    assert [len(call["input"]) for call in server.calls] == [64, 64, 22]
    assert not isinstance(encoder, LateEncoder)


def test_what_decides_the_vectors_decides_the_digest(server: Standin) -> None:
    def digest(prefixes: Prefixes | None = None, **changes: object) -> str:
        return OpenAiEncoder(address(server, **changes), prefixes).embedding.digest

    assert digest() == digest(key="another", base="http://elsewhere.example")
    assert len({digest(), digest(model="n"), digest(dimension=8), digest(Prefixes("q"))}) == 4


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "embedding_url"),
        ({"embedding_url": "ftp://x"}, "embedding_url"),
        ({"embedding_url": "http://x"}, "embedding_dimension"),
        ({"embedding_url": "http://x", "embedding_dimension": 8}, "embedding_model"),
    ],
)
def test_settings_that_lack_something_say_what(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RetrievalSettings(listen="unix:x", embedding_engine="openai", **changes)  # type: ignore[arg-type]  # names differ a test


def test_the_settings_make_the_encoder(server: Standin, tmp_path_factory: pytest.TempPathFactory) -> None:
    key = tmp_path_factory.mktemp("key") / "key"
    key.write_text("sk-file\n")
    settings = RetrievalSettings(
        listen="unix:x",
        embedding_engine="openai",
        embedding_url=server.base,
        embedding_model="some-model",
        embedding_dimension=DIMENSION,
        embedding_key_file=key,
    )
    encoder = encoder_of(settings)
    server.faults = [lambda body: ok({"data": [row(0, [2.0] + [0.0] * (DIMENSION - 1))]})]
    assert encoder.embed(encoder.ids(["x"], "query"))[0].tolist() == [1.0] + [0.0] * (DIMENSION - 1)
    assert server.keys == ["Bearer sk-file"]
    assert encoder.embedding.model == "some-model"
