"""How much a token counts: the rarer it is in running text, the more.

The tokenizer's own prior does better than the frequencies among the candidates of a request: those are few, and they
were found because they hold the question's words, which makes just these look common.
"""

import json
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def token_weights(tokenizer_json: Path) -> Floats:
    """Returns the information content of every token of a Hugging Face tokenizer: -log p in running text, in nats.

    Shape: [vocabulary]. A Unigram tokenizer ships them as its scores. Other vocabularies are ordered by frequency from
    their common to their rare end, so Zipf's law over the rank stands in. Tokens added beside the vocabulary are
    special and weigh 0.
    """
    definition = json.loads(tokenizer_json.read_text(encoding="utf-8"))
    vocabulary = definition["model"]["vocab"]
    weights = _scores(vocabulary) if definition["model"].get("type") == "Unigram" else _zipf(len(vocabulary))
    added = max((token["id"] + 1 for token in definition.get("added_tokens") or ()), default=0)
    return np.pad(weights, (0, max(0, added - len(weights))))


def _scores(vocabulary: list[tuple[str, float]]) -> Floats:
    return np.array([max(0.0, -score) for _, score in vocabulary], np.float32)


def _zipf(size: int) -> Floats:
    """Returns -log(1 / (rank · H(size))) of each rank, where H is the harmonic number."""
    return np.asarray(np.log(np.arange(1, size + 1) * (math.log(size) + np.euler_gamma)), np.float32)
