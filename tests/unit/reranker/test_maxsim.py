"""Late interaction against a plain loop, and the weights of tokens."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from services.reranker.token_vectors.maxsim import maxsim, nearest
from services.reranker.token_vectors.token_weights import token_weights


def unit(rows: int, seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    vectors = np.random.default_rng(seed).normal(size=(rows, 16)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def test_it_agrees_with_a_loop() -> None:
    query, passages = unit(5, 0), [unit(n, n).astype(np.float16) for n in (3, 1, 7)]
    weights = np.array([1, 2, 3, 4, 0], np.float32)
    expected = [
        sum(w * max(float(q @ t.astype(np.float32)) for t in passage) for q, w in zip(query, weights, strict=True)) / 10
        for passage in passages
    ]
    assert maxsim(query, weights, passages) == pytest.approx(expected, abs=1e-3)


def test_empty_segments_are_zero_and_take_nothing_from_their_neighbours() -> None:
    query, tokens = unit(4, 0), unit(6, 1)
    best = nearest(query, tokens, np.array([0, 2, 2, 5, 6]), np.array([2, 2, 5, 6, 6]))
    assert best[:, 1].tolist() == best[:, 4].tolist() == [0] * 4
    assert best[:, 0] == pytest.approx((query @ tokens[:2].T).max(axis=1))
    assert best[:, 2] == pytest.approx((query @ tokens[2:5].T).max(axis=1))
    assert nearest(query, tokens[:0], np.zeros(0, np.int64), np.zeros(0, np.int64)).shape == (4, 0)


def tokenizer(path: Path, model: object, added: list[int]) -> Path:
    path.write_text(json.dumps({"model": model, "added_tokens": [{"id": n} for n in added]}), encoding="utf-8")
    return path


def test_unigram_scores_are_the_weights(tmp_path: Path) -> None:
    model = {"type": "Unigram", "vocab": [["<s>", 0.0], ["the", -3.5], ["rare", -12.0]]}
    assert token_weights(tokenizer(tmp_path / "t.json", model, [0, 3])).tolist() == [0.0, 3.5, 12.0, 0.0]


def test_other_vocabularies_follow_zipf(tmp_path: Path) -> None:
    model = {"type": "WordPiece", "vocab": {f"w{n}": n for n in range(1000)}}
    weights = token_weights(tokenizer(tmp_path / "t.json", model, []))
    assert (np.diff(weights) > 0).all()
    assert float(np.exp(-weights).sum()) == pytest.approx(1, abs=1e-3)
    assert weights[9] - weights[0] == pytest.approx(math.log(10))
