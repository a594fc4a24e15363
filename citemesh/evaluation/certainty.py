"""How sure a figure is: intervals by resampling the questions, differences by exchanging the two sides at random.

Both have their classic sources: Efron, "Bootstrap Methods" (Annals of Statistics 7, 1979), and Fisher's randomisation
test as Smucker, Allan and Carterette recommend it for retrieval (CIKM 2007).
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

ROUNDS = 2000
SEED = 20240501


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
    low, high = interval(values)
    return Figure(fmean(values), low, high, len(values))


def difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Of values of the same questions, in the same order."""
    differences = [b - a for a, b in zip(first, second, strict=True)]
    low, high = interval(differences)
    return Difference(fmean(differences), low, high, chance_of(differences), len(differences))


def interval(values: Sequence[float], seed: int = SEED, rounds: int = ROUNDS) -> tuple[float, float]:
    """95 % interval of the mean of at least one value: percentiles of the means of samples drawn from them."""
    chance = random.Random(seed)  # noqa: S311  # statistics, no secret
    means = sorted(fmean(chance.choices(values, k=len(values))) for _ in range(rounds))
    return means[int(0.025 * rounds)], means[int(0.975 * rounds)]


def chance_of(differences: Sequence[float], seed: int = SEED, rounds: int = ROUNDS) -> float:
    """Two-sided p of pairwise differences: how often signs drawn at random give one as large in sum."""
    chance = random.Random(seed)  # noqa: S311  # statistics, no secret
    observed = abs(sum(differences)) - 1e-12
    as_large = sum(
        abs(sum(value if chance.random() < 0.5 else -value for value in differences)) >= observed for _ in range(rounds)
    )
    return (as_large + 1) / (rounds + 1)
