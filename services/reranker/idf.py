"""How much a token counts: the rarer it is, the more."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def token_priors(tokenizer_json: Path) -> Floats:
    """Log-probability of every token of a Hugging Face tokenizer in running text: [vocabulary], natural logarithm.

    A Unigram tokenizer ships them as its scores. Other vocabularies are ordered by frequency from their common to
    their rare end, so Zipf's law over the rank stands in.
    """
    model = json.loads(tokenizer_json.read_text(encoding="utf-8"))["model"]
    if model.get("type") == "Unigram":
        return np.array([score for _, score in model["vocab"]], np.float32)
    size = len(model["vocab"])
    ranks = np.arange(1, size + 1, dtype=np.float32)
    return np.asarray(-np.log(ranks * np.float32(math.log(size) + 0.5772)), np.float32)


def candidate_idf(tokens: NDArray[np.int64], passages: Sequence[NDArray[np.int64]], priors: Floats, k: float) -> Floats:
    """Inverse document frequency of tokens over the passages of one request, smoothed by a prior: [tokens].

    -log((df + k·π) / (n + k)), where π = 1 - (1 - p)^length is how often a passage of mean length holds a token of
    probability p. k passages' worth of belief in the prior keep ten candidates from saying that a word is rare.
    """
    distinct = [np.unique(passage) for passage in passages]
    held = np.concatenate(distinct) if distinct else np.zeros(0, np.int64)
    frequency = np.bincount(held, minlength=len(priors))[tokens]
    length = float(np.mean([len(passage) for passage in passages])) if passages else 1.0
    expected = -np.expm1(length * np.log1p(-np.minimum(np.exp(priors[tokens]), 0.5)))
    return np.asarray(-np.log((frequency + k * expected) / (len(passages) + k + 1e-9)), np.float32)
