"""What an embedding model sees of a chunk, and which of it is the chunk's own; with small vocabularies made here."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citemesh.models import Kind, Pooling, PreparedModel
from citemesh.models.tokens.token_vectors import unpack
from services.retrieval.embedding.encoder import in_context
from services.retrieval.embedding.model_tokens import ModelTokens
from services.retrieval.embedding.pooling import TokenPacker, embedding_of, pooled
from services.retrieval.types.collection import Embedding
from tests.unit.models.test_literal import unigram, word_piece


def model_of(directory: Path, max_tokens: int = 64) -> PreparedModel:
    (directory / "config.json").write_text('{"pad_token_id": 1}')
    np.save(directory / "late_projection.npy", np.eye(16, 8, dtype=np.float32))
    return PreparedModel(
        "m", Kind.EMBEDDING, "d", "MIT", 16, max_tokens, Pooling.MEAN, "query: ", "passage: ", directory
    )


@pytest.fixture(scope="module", params=[unigram, word_piece], ids=["unigram", "word-piece"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PreparedModel:
    return model_of(request.param(tmp_path_factory.mktemp("model")))


def test_own_tokens_are_those_behind_the_prefix_and_the_context(model: PreparedModel) -> None:
    tokens = ModelTokens(model)
    text = "ab </s> cd"
    [found] = tokens.tokens([in_context("title", ["heading"], text)], [len(text)])
    assert found.ids == tokens.ids([in_context("title", ["heading"], text)], "passage")[0]
    assert [text[place] for place in found.places if not text[place].isspace()] == list("ab</s>cd")
    assert len(found.places) == len(found.ids) - found.first - 1, "all but the closing token"


def test_what_is_over_the_models_limit_is_cut_and_has_no_places(model: PreparedModel) -> None:
    tokens = ModelTokens(model)
    [whole, cut] = tokens.tokens(["a b", "ab " * 90], [3, 270])
    assert whole.places
    assert (len(cut.ids), list(cut.places)) == (64, [])
    assert cut.ids[-1] == whole.ids[-1], "it still ends as the model wants"
    assert len(tokens.ids(["ab " * 90], "query")[0]) == 64


def test_characters_that_the_vocabulary_lacks_are_a_share_of_the_text(model: PreparedModel) -> None:
    rates = ModelTokens(model).unknown_rate(["ab cd", "茶茶", "ab 茶茶", "", "  \n", "🍵"])
    assert rates == pytest.approx([0, 1, 0.5, 0, 0, 1])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60), title=st.text(max_size=20))
def test_places_of_any_text_are_in_it(model: PreparedModel, text: str, title: str) -> None:
    text, title = (it.encode("utf-8", "replace").decode() for it in (text, title))
    [found] = ModelTokens(model).tokens([in_context(title, [], text)], [len(text)])
    assert list(found.places) == sorted(found.places)
    assert all(0 <= place < len(text) for place in found.places)
    states = np.random.default_rng(0).normal(size=(1, len(found.ids) + 3, 16)).astype(np.float32)
    [packed] = TokenPacker(model)(states, [found])
    assert (packed == b"") == (not found.places)
    if packed:
        wanted = states[0, found.first : found.first + len(found.places), :8]
        wanted = wanted / np.linalg.norm(wanted, axis=1, keepdims=True)
        assert float(np.abs(unpack(packed, len(text)).vectors - wanted).max()) < 0.01


def test_pooling_takes_real_tokens_alone() -> None:
    states = np.array([[[1, 0], [0, 1], [9, 9]], [[3, 4], [9, 9], [9, 9]]], np.float32)
    half = float(np.sqrt(0.5))
    assert np.allclose(pooled(states, [2, 1], Pooling.MEAN), [[half, half], [0.6, 0.8]])
    assert np.allclose(pooled(states, [2, 1], Pooling.CLS), [[1, 0], [0.6, 0.8]])
    assert np.allclose(pooled(states, [2, 1], Pooling.LAST), [[0, 1], [0.6, 0.8]])
    assert np.isfinite(pooled(np.zeros((1, 2, 2), np.float32), [2], Pooling.MEAN)).all()


def test_without_a_projection_there_are_no_token_vectors(tmp_path: Path) -> None:
    model = model_of(word_piece(tmp_path))
    assert len(TokenPacker(model).digest) == 64
    model.late_projection.unlink()
    packer = TokenPacker(model)
    assert packer.digest == ""
    [found] = ModelTokens(model).tokens(["ab"], [2])
    assert packer(np.ones((1, 20, 16), np.float32), [found]) == [b""]


def test_what_a_collection_is_fixed_to_stays_what_it_was(tmp_path: Path) -> None:
    """Collections of earlier versions hold this digest; what doesn't change vectors must not change it."""
    wanted = hashlib.sha256(b'["d", "mean", "query: ", "passage: ", 2]').hexdigest()
    assert embedding_of(model_of(word_piece(tmp_path))) == Embedding("m", wanted, 16)
