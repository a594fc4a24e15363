"""The probability that a stretch supports a sentence, from what is measured about the two.

Fitted by `python bench/support_quality.py` on one half of its passages and judged on the other (901 cases from QED,
SciFact and XQuAD in English and Chinese): sentences with the right answer, with another one or another number, and
beside the passage that shares most words with them. Only the weight of names is set by hand: the fit gives -3.0 and
-2.6, and an answer about somebody else is worse than one that goes unmarked.

As they stand here, on that other half: late interaction, over all of the default model's layers as retrieval stores
them, has an area under ROC of .975 and, at the threshold of 0.5, a precision of .939 and a recall of .900 (with the
names' weight as fitted .978, .939 and .907); words alone have .970, .920 and .898. What it can't tell is a passage that
says the contrary in the same words: most of the abstracts that contradict their claim in SciFact pass for support.
"""

from dataclasses import dataclass

import numpy as np

from services.reranker.support.coverage import Coverage
from services.reranker.support.stretches import Floats


@dataclass(frozen=True, slots=True)
class Logistic:
    """sigmoid(bias + Σ weight · feature); features and weights in the order of `features`."""

    bias: float
    weights: tuple[float, ...]

    def probability(self, features: Floats) -> Floats:
        """Returns the probability of each row: [stretches, features] to [stretches]."""
        logit = features @ np.array(self.weights, np.float32) + np.float32(self.bias)
        return np.asarray(1 / (1 + np.exp(-np.clip(logit, -30, 30))), np.float32)


LEXICAL = Logistic(-3.96, (3.02, 5.52, -5.04, -4.0))
LATE = Logistic(-26.31, (0.67, 5.67, -4.94, -4.0, 25.58))


def features(coverage: Coverage, similarity: Floats | None = None) -> Floats:
    """Returns what the calibration looks at: [stretches, 4], or 5 with the similarity.

    They are the coverage of the sentence by the stretch and by it with its context, whether these lack a number, the
    share of names that they lack, and the weighted mean cosine of the sentence's tokens to the stretch's.
    """
    columns = [coverage.stretch, coverage.nearby, coverage.numbers, coverage.names]
    return np.stack(columns if similarity is None else [*columns, similarity], axis=1)
