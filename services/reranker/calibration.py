"""From what is measured about a sentence and a stretch to the probability that the stretch supports the sentence."""

from dataclasses import dataclass

import numpy as np

from services.reranker.coverage import Coverage
from services.reranker.windows import Floats, Windows


@dataclass(frozen=True, slots=True)
class Logistic:
    """sigmoid(bias + Σ weight · feature); features and weights in the order of `features`."""

    bias: float
    weights: tuple[float, ...]

    def probability(self, features: Floats) -> Floats:
        """[stretches, features] to [stretches]."""
        logit = features @ np.array(self.weights, np.float32) + np.float32(self.bias)
        return np.asarray(1 / (1 + np.exp(-np.clip(logit, -30, 30))), np.float32)


FEATURES = ("stretch", "passage", "numbers", "names", "sentences", "similarity")

LEXICAL = Logistic(-4.0, (6.0, 2.0, -3.0, -1.5, -0.3))
LATE = Logistic(-14.0, (4.0, 1.0, -3.0, -1.5, -0.3, 14.0))


def features(windows: Windows, coverage: Coverage, similarity: Floats | None = None) -> Floats:
    """What the calibration looks at: [stretches, 5], or 6 with the similarity.

    Coverage of the sentence by the stretch and by its passage, shares of numbers and names that the passage lacks,
    sentences in the stretch beyond the first, and the weighted mean cosine of the sentence's tokens to the stretch's.
    """
    beyond = (windows.last - windows.first).astype(np.float32)
    columns = [coverage.stretch, coverage.passage, coverage.numbers, coverage.names, beyond]
    return np.stack(columns if similarity is None else [*columns, similarity], axis=1)
