"""How well Attribute tells what a passage supports, and where: English and Chinese, with sentences that look right.

Sentences are made from QED, XQuAD (en, zh) and SciFact: a question with its answer as a statement, a sentence with
words left out, a scientific claim. Unsupported ones are the same with another answer or number, or beside the passage
that shares most words with them. Half of the passages are for fitting, the other half for the figures: the last table
shows the constants that the first half gives, for services/reranker/calibration.py. Passages come with token vectors as
retrieval stores them.
"""

import random
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bench.common import show
from bench.common.report import Cell, Prediction, Question, Report, Table
from bench.common.run import run
from bench.common.stats import estimate
from bench.reranking import claims, data
from bench.reranking.claims import Case
from bench.reranking.logistic import Floats, area, fit
from bench.reranking.stored import Storing
from citemesh.kit.settings import load
from citemesh.models import prepare
from citemesh.models.tokens.token_vectors import StoredVectors
from services.reranker.engines.late_interaction import LateInteractionEngine
from services.reranker.settings import RerankerSettings
from services.reranker.support.calibration import LATE, LEXICAL, Logistic, features
from services.reranker.support.choice import best_of_each, preference
from services.reranker.support.stretches import stretches_of

PRECISION = Question("precision at the threshold", "", Prediction(0.85, 0.95, "other answers fool it at times"))
RECALL = Question("recall at the threshold", "", Prediction(0.8, 0.92, "claims in other words are missed"))
PLACE = Question("right place (half overlap), where supported", "", Prediction(0.75, 0.9, "claims rest on several"))
MODELS = (LEXICAL, LATE)


@dataclass(frozen=True, slots=True)
class Judged:
    """A case with what was measured at the chosen stretch; features is empty where nothing was shared."""

    case: Case
    features: Sequence[float]
    place: tuple[int, int]

    def score(self, model: Logistic) -> float:
        """The model's probability; the lexical one sees the first features only."""
        if not self.features:
            return 0.0
        return float(model.probability(np.array([self.features[: len(model.weights)]], np.float32))[0])

    @property
    def well_placed(self) -> bool:
        """Whether the stretch and one of the right places overlap by half of both together."""
        return any(_overlap(self.place, place) >= 0.5 for place in self.case.places)


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> float:
    shared = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return shared / (max(one[1], other[1]) - min(one[0], other[0]))


async def measure(report: Report) -> None:
    """Judges all cases."""
    settings = load(RerankerSettings)
    report.setting |= {"layers": settings.layers, "threshold": settings.threshold}
    engine = LateInteractionEngine(
        lambda: prepare(settings.model, settings.models_dir), layers=settings.layers, max_tokens=settings.max_tokens
    )
    engine.load()
    cases = _cases(report)
    by_passage: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_passage[case.passage].append(case)
    judged: list[Judged] = []
    stored = Storing(prepare(settings.model, settings.models_dir))(list(by_passage))
    with show.progress(f"{len(cases)} cases", len(by_passage)) as step:
        for passage, some in by_passage.items():
            judged += _judge(engine, passage, some, stored.get(passage))
            step()
    held_out = [one for one in judged if not _for_fitting(one)]
    _tell(report, held_out, settings.threshold)
    _tell_fits(report, [one for one in judged if _for_fitting(one)], held_out, settings.threshold)


def _cases(report: Report) -> list[Case]:
    chance = random.Random(report.options.seed)
    pick = report.options.pick
    return [
        *claims.from_qed(chance.sample(data.qed(), pick(200, 30)), chance),
        *claims.from_scifact(data.scifact(), pick(100, 15), chance),
        *claims.from_xquad("en", data.xquad("en"), pick(40, 8), chance),
        *claims.from_xquad("zh", data.xquad("zh"), pick(50, 10), chance),
    ]


def _judge(
    engine: LateInteractionEngine, passage: str, cases: Sequence[Case], stored: StoredVectors | None
) -> Iterator[Judged]:
    """What the engine's own support() looks at, at the stretch that it chooses."""
    stretches = stretches_of([passage])
    numbers = {stretches.span(number): number for number in range(len(stretches.first))}
    evidence = engine.evidence([case.sentence for case in cases], passage, lambda: True, stored)
    for case, (coverage, similarity) in zip(cases, evidence, strict=True):
        preferred = preference(stretches, coverage, similarity)
        chosen = best_of_each(stretches, preferred, preferred, coverage.shared)
        if not chosen:
            yield Judged(case, (), (0, 1))
            continue
        place = (chosen[0].start, chosen[0].end)
        yield Judged(case, tuple(map(float, features(coverage, similarity)[numbers[place]])), place)


def _for_fitting(one: Judged) -> bool:
    return zlib.crc32(one.case.passage.encode()) % 2 == 0


def _tell(report: Report, judged: Sequence[Judged], threshold: float) -> None:
    seed = report.options.seed
    told = [one for one in judged if one.case.supported is not None]
    over = [float(bool(one.case.supported)) for one in told if one.score(LATE) >= threshold]
    supported = [one for one in told if one.case.supported]
    report.answer(PRECISION, estimate(over, seed, _mean))
    report.answer(RECALL, estimate([float(one.score(LATE) >= threshold) for one in supported], seed, _mean))
    report.answer(PLACE, estimate([float(one.well_placed) for one in supported], seed, _mean))
    report.tables.append(Table("By threshold", ("threshold", "precision", "recall", "F1"), _by_threshold(told)))
    kinds: dict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        kinds[one.case.kind].append(one)
    rows = [_kind_row(kind, some, threshold) for kind, some in sorted(kinds.items())]
    report.tables.append(
        Table(f"Called supported at {threshold}", ("kind", "should be", "cases", "is", "right place"), rows)
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _by_threshold(told: Sequence[Judged]) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for threshold in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        over = [one for one in told if one.score(LATE) >= threshold]
        right = sum(bool(one.case.supported) for one in over)
        precision = right / max(1, len(over))
        recall = right / max(1, sum(bool(one.case.supported) for one in told))
        rows.append([threshold, precision, recall, 2 * precision * recall / max(1e-9, precision + recall)])
    return rows


def _kind_row(kind: str, some: Sequence[Judged], threshold: float) -> list[Cell]:
    wanted = {True: "supported", False: "not", None: "either"}[some[0].case.supported]
    called = _mean([float(one.score(LATE) >= threshold) for one in some])
    place = _mean([float(one.well_placed) for one in some]) if some[0].case.supported else ""
    return [kind, wanted, len(some), called, place]


def _tell_fits(report: Report, fitting: Sequence[Judged], held_out: Sequence[Judged], threshold: float) -> None:
    rows: list[list[Cell]] = []
    for name, model in zip(("LEXICAL", "LATE"), MODELS, strict=True):
        table, labels = _table(fitting, len(model.weights))
        weights = fit(table, labels)
        anew = Logistic(round(float(weights[-1]), 2), tuple(round(float(w), 2) for w in weights[:-1]))
        for said, one in (("as it ships", model), ("fitted anew", anew)):
            told = [judged for judged in held_out if judged.case.supported is not None]
            scores = np.array([judged.score(one) for judged in told])
            truth = np.array([float(bool(judged.case.supported)) for judged in told])
            over = scores >= threshold
            precision, recall = float(truth[over].mean()), float(over[truth == 1].mean())
            rows.append([name, said, area(scores, truth), precision, recall, f"{one.bias} {one.weights}"])
    columns = ("model", "constants", "area under ROC", "precision", "recall", "bias and weights")
    report.tables.append(Table("Constants, judged on the half not fitted on", columns, rows))


def _table(judged: Sequence[Judged], width: int) -> tuple[Floats, Floats]:
    told = [one for one in judged if one.features and one.case.supported is not None]
    return np.array([one.features[:width] for one in told]), np.array([float(bool(one.case.supported)) for one in told])


if __name__ == "__main__":
    sys.exit(run("support_quality", __doc__ or "", [PRECISION, RECALL, PLACE], measure))
