"""SQLite FTS5, tantivy and bm25s as the lexical index: quality a millisecond, and what a change costs.

All three get the same words, in passages of the public sets as they are, one field for titles. Changes are made one
document at a time, each seen by the next search, as the store needs it.
"""

import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.common import show
from bench.common.report import Cell, Prediction, Question, Report, Table
from bench.common.run import run
from bench.common.stats import difference
from bench.retrieving import judge
from bench.retrieving.lexicons import KINDS, Lexicon, Row, bytes_of
from bench.retrieving.sets import SETS, JudgedSet

TITLE_WEIGHT = 1.0
TANTIVY = Question(
    "tantivy - FTS5, all sets",
    "nDCG@10",
    Prediction(-0.01, 0.01, "the same BM25 over the same words; the stems differ"),
)
BM25S = Question(
    "bm25s - FTS5, all sets", "nDCG@10", Prediction(-0.01, 0.01, "as above, with titles inside of the text")
)
RAREST = Question(
    "rarest words - FTS5, all sets",
    "nDCG@10",
    Prediction(-0.02, 0.0, "words that a fifth of the passages hold tell little"),
)
CHANGES = 30


@dataclass(frozen=True, slots=True)
class Measured:
    """One index on one set: nDCG@10 and milliseconds of each query, seconds to build, ms of a change, bytes."""

    ndcg: judge.Values
    ms: judge.Values
    build_s: float
    change_ms: float
    bytes: int


async def measure(report: Report) -> None:
    """Runs every index over every set."""
    report.setting |= {"title_weight": TITLE_WEIGHT, "changes": CHANGES}
    found: dict[str, dict[str, Measured]] = {}
    for name, load in SETS.items():
        show.say(name)
        judged = load()
        most = report.options.pick(len(judged.queries), 50)
        queries = random.Random(report.options.seed).sample(judged.queries, min(most, len(judged.queries)))
        chosen = JudgedSet(name, judged.language, judged.documents, queries)
        found[name] = {kind.name: _measured(kind, chosen) for kind in KINDS}
        report.tables.append(_table(chosen, found[name]))
    larger = _larger(report.options.pick(100_000, 15_000))
    show.say(larger.name)
    chosen = replace(larger, queries=larger.queries[:: report.options.pick(2, 8)])
    found_larger = {kind.name: _measured(kind, chosen, changes=3) for kind in KINDS}
    report.tables.append(_table(chosen, found_larger, judge_it=False))
    seed = report.options.seed
    for question, name in ((TANTIVY, "tantivy"), (BM25S, "bm25s"), (RAREST, "SQLite FTS5, rarest words")):
        report.answer(question, difference(_all(found, name), _all(found, "SQLite FTS5"), seed, _mean))


def _larger(passages: int) -> JudgedSet:
    """All English texts, over and over, and all English queries: for speed only, as most of it is repeated."""
    parts = [SETS[name]() for name in ("scifact", "multihop", "xquad-en")]
    texts = [it for part in parts for it in part.documents]
    repeated = [replace(texts[at % len(texts)], id=str(at)) for at in range(passages)]
    return JudgedSet("larger", "en", repeated, [asked for part in parts for asked in part.queries])


def _measured(kind: type[Lexicon], judged: JudgedSet, changes: int = CHANGES) -> Measured:
    rows = [(number, it.title, it.text) for number, it in enumerate(judged.documents, start=1)]
    with tempfile.TemporaryDirectory(prefix="cm-lexical-") as folder:
        index = kind(Path(folder), TITLE_WEIGHT)  # type: ignore[call-arg]  # a Protocol has no such constructor
        started = time.perf_counter()
        index.put(rows)
        built = time.perf_counter() - started
        rankings, ms = _asked(index, judged)
        change_ms = _changed(index, rows[:changes])
        size = bytes_of(Path(folder).rglob("*"))
        index.close()
    found = judge.judged(judged.queries, rankings, rankings, ms)
    return Measured(found.values["ndcg@10"], ms, built, change_ms, size)


def _asked(index: Lexicon, judged: JudgedSet) -> tuple[list[list[str]], judge.Values]:
    index.search("warm up", 10)
    rankings: list[list[str]] = []
    ms: list[float] = []
    for asked in judged.queries:
        started = time.perf_counter()
        found = index.search(asked.text, 100)
        ms.append(1000 * (time.perf_counter() - started))
        rankings.append([judged.documents[number - 1].id for number, _ in found])
    return rankings, np.array(ms, np.float64)


def _changed(index: Lexicon, rows: Sequence[Row]) -> float:
    """Milliseconds of replacing, then deleting, one row."""
    started = time.perf_counter()
    for row in rows:
        index.put([row])
        index.delete([row[0]])
    return 1000 * (time.perf_counter() - started) / (2 * len(rows))


def _table(judged: JudgedSet, found: dict[str, Measured], judge_it: bool = True) -> Table:
    rows: list[Sequence[Cell]] = [
        [
            name,
            f"{each.ndcg.mean():.3f}" if judge_it else "",
            float(each.ms.mean()),
            float(np.percentile(each.ms, 99)),
            f"{each.ndcg.mean() / each.ms.mean():.2f}" if judge_it else "",
            each.build_s,
            each.change_ms,
            each.bytes / 2**20,
        ]
        for name, each in found.items()
    ]
    columns = ("index", "nDCG@10", "ms", "ms p99", "nDCG/ms", "build s", "change ms", "MiB")
    return Table(f"{judged.name}: {len(judged.documents)} documents, {len(judged.queries)} queries", columns, rows)


def _all(found: dict[str, dict[str, Measured]], name: str) -> list[float]:
    """A difference wants bases above 0."""
    return [max(float(value), 1e-9) for systems in found.values() for value in systems[name].ndcg]


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


if __name__ == "__main__":
    sys.exit(run("lexical", __doc__ or "", [TANTIVY, BM25S, RAREST], measure))
