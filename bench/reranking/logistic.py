"""Logistic regression, for fitting the reranker's calibration anew."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def fit(features: Floats, labels: Floats, ridge: float = 0.01, steps: int = 50) -> Floats:
    """Weights and, last, the bias, by Newton's method with a small ridge: [features + 1].

    Args:
        features: [cases, features]. labels: 0 or 1, [cases].
    """
    table = np.column_stack([features, np.ones(len(features))])
    weights = np.zeros(table.shape[1])
    for _ in range(steps):
        chance = 1 / (1 + np.exp(-np.clip(table @ weights, -30, 30)))
        slope = table.T @ (labels - chance) - ridge * weights
        bend = (table.T * (chance * (1 - chance))) @ table + ridge * np.eye(len(weights))
        weights = weights + np.linalg.solve(bend, slope)
    return weights


def area(scores: Floats, labels: Floats) -> float:
    """Area under the receiver operating characteristic: how often a supported case is above an unsupported one."""
    above, below = scores[labels == 1], scores[labels == 0]
    return float(np.mean((above[:, None] > below) + 0.5 * (above[:, None] == below)))
