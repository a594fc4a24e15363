"""What each rule of citing is worth: one citation or two, what says the contrary left out, clauses checked alone.

In one process, with the reranker's own engine: labelled sentences of QED, XQuAD (en, zh) and SciFact, each beside its
own passage and the two others that share most words with it; and sentences that rest on two passages: two true ones
joined. `bench.citations` measures the shipped rules through the services, over real search.
"""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from bench.citing import labelled, told
from bench.citing.labelled import Labelled, Said
from bench.citing.told import One
from bench.common import show
from bench.common.report import Cell, Prediction, Question, Report, Table
from bench.common.run import run
from bench.common.stats import Estimate
from bench.reranking.search import Floats, bm25
from bench.reranking.stored import Stored, Storing
from citemesh.kit.settings import load
from citemesh.models import prepare
from gateway.query.cite.clauses import clauses
from gateway.query.cite.contradiction import contrary
from services.reranker.engine import PassageSupport
from services.reranker.engines.late_interaction import LateInteractionEngine
from services.reranker.settings import RerankerSettings

BESIDE = 2
LESS_FALSE = Question(
    "contradicted claims cited, with the signs of the contrary less without",
    "",
    Prediction(-0.3, -0.1, "the signs are words, and half of the contradictions are said otherwise"),
)
JOINED = Question("joined sentences that cite both, shipped", "", Prediction(0.4, 0.75, "parts are short"))


@dataclass(frozen=True, slots=True)
class Rule:
    """What is cited at a sentence."""

    name: str
    most: int = 1
    contrary: bool = False
    clauses: bool = False


RULES = (
    Rule("two best", most=2),
    Rule("best one"),
    Rule("without the contrary", contrary=True),
    Rule("by clause", clauses=True),
    Rule("both (shipped)", contrary=True, clauses=True),
)


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence among passages, and what supports it and its clauses, best first."""

    said: Said
    passages: Sequence[str]
    whole: Sequence[PassageSupport]
    parts: Sequence[tuple[str, Sequence[PassageSupport]]]


class Judge:
    """Finds support. threshold: from which score it counts."""

    def __init__(self, engine: LateInteractionEngine, threshold: float) -> None:
        self._engine, self._threshold = engine, threshold

    def case(self, said: Said, passages: Sequence[str], stored: Stored) -> Case:
        """Judges a sentence; its clauses only where it needs them."""
        find = partial(self._find, passages=passages, stored=stored)
        [whole] = find([said.text])
        parts = clauses(said.text)
        sound = [one for one in whole if not contrary(said.text, _quote(passages, one))]
        found = [] if sound or len(parts) == 1 else list(zip(parts, find(parts), strict=True))
        return Case(said, passages, whole, found)

    def _find(self, texts: Sequence[str], passages: Sequence[str], stored: Stored) -> list[list[PassageSupport]]:
        found = self._engine.support(texts, passages, lambda: True, [stored.get(text) for text in passages])
        return [[one for one in each if one.score >= self._threshold] for each in found]


async def measure(report: Report) -> None:
    """Judges all sentences, then tries the rules."""
    settings = load(RerankerSettings)
    model = prepare(settings.model, settings.models_dir)
    engine = LateInteractionEngine(lambda: model, layers=settings.layers, max_tokens=settings.max_tokens)
    engine.load()
    judge, storing = Judge(engine, settings.threshold), Storing(model)
    rows: list[list[Cell]] = []
    single: list[Case] = []
    joined: list[Case] = []
    for one in _sets(report):
        some = list(_cases(judge, storing, one, one.said))
        pairs = list(_joined(one, report))
        both = list(_cases(judge, storing, one, pairs))
        rows += [_row(one.name, rule, some, both, report.options.seed) for rule in RULES]
        single, joined = single + some, joined + both
    rows += [_row("all", rule, single, joined, report.options.seed) for rule in RULES]
    columns = (
        "set",
        "rule",
        "true",
        "precision",
        "recall",
        "false",
        "cited",
        "against",
        "cited",
        "joined",
        "both cited",
    )
    report.tables.append(Table("Rules", columns, rows))
    against = [one for one in single if one.said.true is None]
    report.answer(LESS_FALSE, _apart(against, RULES[2], RULES[1], report.options.seed))
    report.answer(JOINED, told.apart_by(joined, partial(_both, rule=RULES[-1]), report.options.seed))


def _sets(report: Report) -> list[Labelled]:
    chance, pick = random.Random(report.options.seed), report.options.pick
    return [
        labelled.scifact(pick(80, 8), chance),
        labelled.qed(pick(40, 6), 0, chance),
        labelled.xquad("en", pick(36, 6), 0, chance),
        labelled.xquad("zh", pick(26, 6), 0, chance),
    ]


def _cases(judge: Judge, storing: Storing, one: Labelled, said: Sequence[Said]) -> Iterator[Case]:
    texts = {document.id: document.text for document in one.documents}
    pool = list(texts.values())
    chosen = [
        _passages(texts, pool, each, row) for each, row in zip(said, bm25(pool, [s.text for s in said]), strict=True)
    ]
    stored = storing(list(dict.fromkeys(text for some in chosen for text in some)))
    with show.progress(f"{one.name}: sentences", len(said)) as step:
        for each, passages in zip(said, chosen, strict=True):
            yield judge.case(each, passages, stored)
            step()


def _passages(texts: dict[str, str], pool: Sequence[str], said: Said, scores: Floats) -> list[str]:
    own = [texts[name] for name in dict.fromkeys((said.own, *sorted(said.documents))) if name in texts][:2]
    near = sorted(range(len(pool)), key=lambda at: -scores[at])
    return [*own, *[pool[at] for at in near if pool[at] not in own][: 1 + BESIDE - len(own)]]


def _joined(one: Labelled, report: Report) -> Iterator[Said]:
    """Two true statements of different documents as one sentence."""
    true = [said for said in one.said if said.true and "shortened" not in said.kind]
    random.Random(report.options.seed).shuffle(true)
    joint, end = ("，", "。") if one.name.endswith("zh") else (" and ", ".")
    for first, second in zip(true[::2], true[1::2], strict=False):
        if first.own != second.own:
            text = joint.join(said.text.rstrip(".。 ") for said in (first, second)) + end
            yield Said("joined", text, True, first.own, frozenset((first.own, second.own)), ())


def cited(case: Case, rule: Rule) -> list[str]:
    """The documents that a rule cites, each once."""
    chosen = _sound(case, case.said.text, case.whole, rule)[: rule.most]
    if not chosen and rule.clauses and case.parts:
        best = [_sound(case, text, found, rule)[:1] for text, found in case.parts]
        chosen = [one for each in best for one in each] if all(best) else []
    return list(dict.fromkeys(labelled.named(case.passages[one.passage]) for one in chosen))


def _sound(case: Case, text: str, found: Sequence[PassageSupport], rule: Rule) -> list[PassageSupport]:
    return [one for one in found if not (rule.contrary and contrary(text, _quote(case.passages, one)))]


def _quote(passages: Sequence[str], one: PassageSupport) -> str:
    return passages[one.passage][one.start : one.end]


def _one(case: Case, rule: Rule) -> One:
    documents = cited(case, rule)
    return One(len(documents), sum(one in case.said.documents for one in documents))


def _both(cases: Sequence[Case], rule: Rule) -> float:
    """Share of the sentences that cite all the documents that they rest on."""
    return sum(case.said.documents <= set(cited(case, rule)) for case in cases) / max(1, len(cases))


def _share(cases: Sequence[Case], rule: Rule) -> float:
    return told.supported([_one(case, rule) for case in cases])


def _apart(cases: Sequence[Case], one: Rule, other: Rule, seed: int) -> Estimate:
    measure: Callable[[Sequence[Case]], float] = lambda some: _share(some, one) - _share(some, other)  # noqa: E731
    return told.apart_by(cases, measure, seed)


def _row(name: str, rule: Rule, cases: Sequence[Case], joined: Sequence[Case], seed: int) -> list[Cell]:
    by = {wanted: [case for case in cases if case.said.true is wanted] for wanted in (True, False, None)}
    ones = [_one(case, rule) for case in by[True]]
    figures = [told.spread(told.figure(ones, each, seed)) for each in (told.precision, told.recall)]
    shares: list[Cell] = []
    for some in (by[False], by[None]):
        shares += [len(some), f"{_share(some, rule):.2f}" if some else ""]
    return [name, rule.name, len(ones), *figures, *shares, len(joined), f"{_both(joined, rule):.2f}" if joined else ""]


if __name__ == "__main__":
    sys.exit(run("citation_rules", __doc__ or "", [LESS_FALSE, JOINED], measure))
