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
    """The mean of a measure over a number of questions, and its 95 % interval."""

    mean: float
    low: float
    high: float
    questions: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of the second run less the first, and its 95 % interval.

    Attributes:
        p: the chance of a difference at least as large if the runs were alike.
    """

    mean: float
    low: float
    high: float
    p: float
    questions: int


def figure(values: Sequence[float]) -> Figure:
    """Returns the mean of at least one value, with its interval."""
    low, high = interval(values)
    return Figure(fmean(values), low, high, len(values))


def difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Returns how much the second values differ from the first; both are of the same questions, in the same order."""
    deltas = [after - before for before, after in zip(first, second, strict=True)]
    low, high = interval(deltas)
    return Difference(fmean(deltas), low, high, chance_of(deltas), len(deltas))


def interval(values: Sequence[float], seed: int = SEED, rounds: int = ROUNDS) -> tuple[float, float]:
    """Returns the 95 % interval of the mean of at least one value, by percentiles of the means of resampled values."""
    generator = random.Random(seed)  # noqa: S311  # statistics, no secret
    means = sorted(fmean(generator.choices(values, k=len(values))) for _ in range(rounds))
    return means[int(0.025 * rounds)], means[int(0.975 * rounds)]


def chance_of(deltas: Sequence[float], seed: int = SEED, rounds: int = ROUNDS) -> float:
    """Returns the two-sided p of pairwise differences: how often random signs give a sum as large as theirs."""
    generator = random.Random(seed)  # noqa: S311  # statistics, no secret
    bound = abs(sum(deltas)) - 1e-12
    as_large = sum(
        abs(sum(delta if generator.random() < 0.5 else -delta for delta in deltas)) >= bound for _ in range(rounds)
    )
    return (as_large + 1) / (rounds + 1)
