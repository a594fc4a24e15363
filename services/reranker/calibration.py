"""From what is measured about a sentence and a stretch to the probability that the stretch supports the sentence."""

from dataclasses import dataclass

import numpy as np

from services.reranker.coverage import Coverage
from services.reranker.windows import Floats


@dataclass(frozen=True, slots=True)
class Logistic:
    """sigmoid(bias + Σ weight · feature); features and weights in the order of `features`."""

    bias: float
    weights: tuple[float, ...]

    def probability(self, features: Floats) -> Floats:
        """[stretches, features] to [stretches]."""
        logit = features @ np.array(self.weights, np.float32) + np.float32(self.bias)
        return np.asarray(1 / (1 + np.exp(-np.clip(logit, -30, 30))), np.float32)


LEXICAL = Logistic(-4.0, (1.0, 7.0, -7.0, -6.5))
LATE = Logistic(-6.87, (0.44, 6.88, -7.22, -7.52, 5.54))


def features(coverage: Coverage, similarity: Floats | None = None) -> Floats:
    """What the calibration looks at: [stretches, 4], or 5 with the similarity.

    Coverage of the sentence by the stretch and by it with its context, whether these lack a number, the share of names
    that they lack, and the weighted mean cosine of the sentence's tokens to the stretch's.
    """
    columns = [coverage.stretch, coverage.nearby, coverage.numbers, coverage.names]
    return np.stack(columns if similarity is None else [*columns, similarity], axis=1)
