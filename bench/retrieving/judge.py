"""How good rankings are, how sure that is, and whether one system is better than another.

Metrics are ir-measures' (MacAvaney, Macdonald and Ounis, 2022). Intervals are over queries, and two systems are
compared query by query, as `citemesh eval` does it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from ir_measures import RR, Measure, Qrel, R, ScoredDoc, iter_calc, nDCG
from numpy.typing import NDArray

from bench.retrieving.sets import Asked
from citemesh.evaluation import certainty

METRICS: dict[str, Measure] = {"ndcg@10": nDCG @ 10, "mrr@10": RR @ 10, "recall@10": R @ 10, "recall@100": R @ 100}
ROUNDS = 10_000
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Judged:
    """One system on one set: a value a query by metric, and the milliseconds of each query."""

    values: Mapping[str, Values]
    ms: Values

    def mean(self, metric: str, queries: NDArray[np.bool_] | None = None) -> float:
        """Mean over all queries, or over some."""
        chosen = self.values[metric]
        return float(chosen.mean() if queries is None else chosen[queries].mean())

    def row(self) -> dict[str, float]:
        """Means as the JSON has them."""
        means = {name: round(self.mean(name), 4) for name in METRICS}
        return means | {"ms_per_query": round(float(self.ms.mean()), 2)}


def judged(
    queries: Sequence[Asked], rankings: Sequence[Sequence[str]], deep: Sequence[Sequence[str]], ms: Values
) -> Judged:
    """Judges rankings of document ids, best first.

    Args:
        rankings: what a caller gets who asks for ten; metrics at 10 are theirs.
        deep: what one gets who asks for a hundred; recall@100 is theirs.
    """
    qrels = [Qrel(str(n), id, 1) for n, asked in enumerate(queries) for id in sorted(asked.relevant)]
    values = _calc(qrels, rankings, len(queries))
    values["recall@100"] = _calc(qrels, deep, len(queries))["recall@100"]
    return Judged(values, ms)


def interval(values: Values, seed: int) -> tuple[float, float]:
    """95 % bootstrap interval of a mean."""
    return certainty.interval(values.tolist(), seed)


def chance_of_difference(one: Values, other: Values, seed: int) -> float:
    """Two-sided p of the paired randomisation test: how often a difference so large comes of swapping at random."""
    return certainty.chance_of((one - other).tolist(), seed, ROUNDS)


def _calc(qrels: Sequence[Qrel], rankings: Sequence[Sequence[str]], queries: int) -> dict[str, Values]:
    run = [ScoredDoc(str(n), id, -float(at)) for n, ranking in enumerate(rankings) for at, id in enumerate(ranking)]
    found = {name: np.zeros(queries) for name in METRICS}
    names = {str(measure): name for name, measure in METRICS.items()}
    for metric in iter_calc(list(METRICS.values()), qrels, run):
        found[names[str(metric.measure)]][int(metric.query_id)] = metric.value
    return found
