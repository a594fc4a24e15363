"""Intervals, and the chance of a difference."""

from citemesh.evaluation import certainty


def test_a_difference_is_sure_only_where_it_is() -> None:
    first = [0.1 * (n % 7) for n in range(60)]
    better = certainty.difference(first, [one + 0.2 + 0.01 * (n % 3) for n, one in enumerate(first)])
    assert better.p < 0.01 and better.low > 0.19
    noise = certainty.difference(first, [one + (0.1 if n % 2 else -0.1) for n, one in enumerate(first)])
    assert noise.p > 0.5 and noise.low < 0 < noise.high
    alike = certainty.difference(first, first)
    assert (alike.mean, alike.p) == (0.0, 1.0)
