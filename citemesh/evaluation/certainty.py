"""How sure a figure is: intervals by resampling the questions, differences by exchanging the two sides at random.

Both have their classic sources: Efron, "Bootstrap Methods" (Annals of Statistics 7, 1979), and Fisher's randomisation
test as Smucker, Allan and Carterette recommend it for retrieval (CIKM 2007).
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

ROUNDS = 2000
_SEED = 20240501


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over so many questions and its 95 % interval."""

    mean: float
    low: float
    high: float
    questions: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of the second less the first, its 95 % interval, and the chance of one as large if they were alike."""

    mean: float
    low: float
    high: float
    p: float
    questions: int


def figure(values: Sequence[float]) -> Figure:
    """The mean of at least one value."""
    low, high = _interval(values)
    return Figure(fmean(values), low, high, len(values))


def difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Of values of the same questions, in the same order."""
    apart = [b - a for a, b in zip(first, second, strict=True)]
    low, high = _interval(apart)
    return Difference(fmean(apart), low, high, _p(apart), len(apart))


def _interval(values: Sequence[float]) -> tuple[float, float]:
    chance = random.Random(_SEED)  # noqa: S311  # statistics, no secret
    means = sorted(fmean(chance.choices(values, k=len(values))) for _ in range(ROUNDS))
    return means[int(0.025 * ROUNDS)], means[int(0.975 * ROUNDS)]


def _p(apart: Sequence[float]) -> float:
    chance = random.Random(_SEED)  # noqa: S311  # statistics, no secret
    seen = abs(sum(apart)) - 1e-12
    as_large = sum(abs(sum(one if chance.random() < 0.5 else -one for one in apart)) >= seen for _ in range(ROUNDS))
    return (as_large + 1) / (ROUNDS + 1)
