"""Medians, percentiles and ratios with their spread.

Figures of one run are compared in pairs: whatever disturbed a round disturbed both sides of it, so rounds are resampled
whole (the paired bootstrap of Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, percentile intervals).
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Statistic = Callable[[Sequence[float]], float]
RESAMPLES = 2000
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its bootstrap interval (95 %); `samples` is the number of rounds behind it."""

    value: float
    low: float
    high: float
    samples: int

    @property
    def settled(self) -> bool:
        """Whether there were enough rounds for the interval to mean something."""
        return self.samples >= 5

    def scaled(self, factor: float) -> "Estimate":
        """The same in another unit; the factor is above 0."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor, self.samples)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share (0 to 1) of the values lies, by linear interpolation.

    Raises ValueError for no values, or a share outside 0 to 1.
    """
    if not values:
        raise ValueError("values: none were given; measure at least one round")
    if not 0 <= share <= 1:
        raise ValueError(f"share: {share} is not within 0 to 1")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def median(values: Sequence[float]) -> float:
    """The middle value. Raises ValueError for no values."""
    return percentile(values, 0.5)


def estimate(values: Sequence[float], seed: int, statistic: Statistic = median) -> Estimate:
    """A statistic of rounds and its interval. Raises ValueError for no values."""
    return _bootstrap(len(values), seed, lambda rounds: statistic([values[i] for i in rounds]))


def ratio(measured: Sequence[float], base: Sequence[float], seed: int, statistic: Statistic = median) -> Estimate:
    """statistic(measured) over statistic(base), where the n-th of each are of the same round, and its interval.

    Raises ValueError for no rounds, sides of different length, or a base that is not above 0.
    """
    _check_pairs(measured, base)

    def of(rounds: Sequence[int]) -> float:
        return statistic([measured[i] for i in rounds]) / statistic([base[i] for i in rounds])

    return _bootstrap(len(base), seed, of)


def difference(measured: Sequence[float], base: Sequence[float], seed: int, statistic: Statistic = median) -> Estimate:
    """The statistic of what measured is above base, round by round. Raises ValueError as `ratio`."""
    _check_pairs(measured, base)
    return estimate([one - other for one, other in zip(measured, base, strict=True)], seed, statistic)


def _check_pairs(measured: Sequence[float], base: Sequence[float]) -> None:
    if len(measured) != len(base):
        raise ValueError(f"measured, base: {len(measured)} and {len(base)} rounds; each round needs both sides")
    if any(value <= 0 for value in base):
        raise ValueError("base: a round is not above 0, so nothing can be compared with it")


def _bootstrap(rounds: int, seed: int, of: Callable[[Sequence[int]], float]) -> Estimate:
    value = of(range(rounds))
    chance = random.Random(seed)
    drawn = [of(chance.choices(range(rounds), k=rounds)) for _ in range(RESAMPLES)]
    tail = (1 - CONFIDENCE) / 2
    return Estimate(value, percentile(drawn, tail), percentile(drawn, 1 - tail), rounds)
