import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.common.stats import Estimate, difference, estimate, median, percentile, ratio

positive = st.floats(min_value=1e-6, max_value=1e6)
lists = st.lists(positive, min_size=1, max_size=12)
SEED = 7
resampled = settings(max_examples=15)


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([3.0], 0.99, 3.0), ([1.0, 2.0, 3.0, 4.0], 0.5, 2.5), ([4.0, 1.0, 3.0, 2.0], 0.25, 1.75), ([1.0, 9.0], 1.0, 9.0)],
)
def test_percentiles_by_hand(values: list[float], share: float, expected: float) -> None:
    assert percentile(values, share) == pytest.approx(expected)


@given(lists, st.floats(0, 1), st.floats(0, 1))
def test_percentiles_rise_within_the_values(values: list[float], one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert min(values) <= percentile(values, low) <= percentile(values, high) <= max(values)


@given(lists)
def test_the_percentile_is_the_same_in_any_order(values: list[float]) -> None:
    assert percentile(values[::-1], 0.3) == percentile(values, 0.3)


@pytest.mark.parametrize(("values", "share"), [([], 0.5), ([1.0], -0.1), ([1.0], 1.1)])
def test_percentile_refuses_nonsense(values: list[float], share: float) -> None:
    with pytest.raises(ValueError, match=r"values|share"):
        percentile(values, share)


@resampled
@given(lists, st.floats(0.1, 10))
def test_a_side_that_is_so_many_times_the_other_has_that_ratio(base: list[float], factor: float) -> None:
    found = ratio([factor * value for value in base], base, SEED)
    assert found.low == pytest.approx(factor)
    assert found.value == pytest.approx(factor)
    assert found.high == pytest.approx(factor)
    assert found.samples == len(base)


def test_noise_that_hits_both_sides_of_a_round_does_not_widen_the_ratio() -> None:
    chance = random.Random(SEED)
    noise = [chance.uniform(1, 50) for _ in range(30)]
    paired = ratio([1.2 * n for n in noise], noise, SEED)
    apart = ratio([1.2 * n for n in chance.sample(noise, 30)], noise, SEED)
    assert paired.high - paired.low < 1e-9 < apart.high - apart.low


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    chance = random.Random(SEED)
    hits = 0
    for seed in range(30):
        found = estimate([chance.gauss(10, 2) for _ in range(25)], seed)
        hits += found.low <= 10 <= found.high
    assert 25 <= hits <= 30


@resampled
@given(lists, st.integers(0, 2**32))
def test_an_interval_holds_its_value_and_follows_its_seed(values: list[float], seed: int) -> None:
    found = estimate(values, seed)
    assert min(values) <= found.low <= found.high <= max(values)
    assert found.value == median(values)
    assert found == estimate(values, seed)


def test_differences_are_taken_round_by_round() -> None:
    found = difference([11.0, 102.0, 1003.0], [10.0, 100.0, 1000.0], SEED)
    assert found.value == 2.0
    assert (found.low, found.high) == (1.0, 3.0)


@pytest.mark.parametrize(("measured", "base"), [([1.0], [1.0, 2.0]), ([1.0], [0.0]), ([1.0], [-1.0]), ([], [])])
def test_rounds_that_cannot_be_compared_are_refused(measured: list[float], base: list[float]) -> None:
    with pytest.raises(ValueError, match=r"rounds|base|values"):
        ratio(measured, base, SEED)


def test_another_unit() -> None:
    assert Estimate(1.5, 1.0, 2.0, 9).scaled(1000) == Estimate(1500, 1000, 2000, 9)
