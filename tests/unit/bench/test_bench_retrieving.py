"""What the bench of search quality computes, by hand; its options, its JSON and its chart."""

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from bench import retrieval_quality
from bench.retrieving import chart, judge, sets
from bench.retrieving.sets import Asked
from citemesh.errors import PreconditionFailed

QUERIES = [Asked("one", frozenset({"a", "b"})), Asked("two", frozenset({"c"})), Asked("three", frozenset({"d"}))]
RANKINGS = [["a", "x", "b"], ["y", "c"], []]


def found() -> judge.Judged:
    return judge.judged(QUERIES, RANKINGS, [["a", "b"], ["c"], ["z", "d"]], np.array([1.0, 2.0, 3.0]))


def test_metrics_are_what_their_definitions_say() -> None:
    values = found().values
    first = (1 + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    assert values["ndcg@10"] == pytest.approx([first, 1 / math.log2(3), 0])
    assert values["mrr@10"] == pytest.approx([1, 0.5, 0])
    assert values["recall@10"] == pytest.approx([1, 1, 0])
    assert values["recall@100"] == pytest.approx([1, 1, 1])


def test_the_row_has_just_what_the_json_promises() -> None:
    row = found().row()
    assert set(row) == {"ndcg@10", "mrr@10", "recall@10", "recall@100", "ms_per_query"}
    assert row["ms_per_query"] == 2.0
    whole = retrieval_quality.as_json({"scifact": {"hybrid": found()}})
    assert json.loads(json.dumps(whole)) == {"sets": {"scifact": {"hybrid": row}}}


def test_an_interval_holds_the_mean_and_narrows_with_more_queries() -> None:
    chance = np.random.default_rng(1)
    few, many = chance.random(30), chance.random(3000)
    low, high = judge.interval(few, 1)
    assert low < few.mean() < high
    assert judge.interval(many, 1)[1] - judge.interval(many, 1)[0] < (high - low) / 4


def test_a_difference_is_told_from_noise() -> None:
    chance = np.random.default_rng(2)
    base = chance.random(200)
    assert judge.chance_of_difference(base + 0.05, base, 3) < 0.001
    assert judge.chance_of_difference(base, base, 3) == 1.0
    assert judge.chance_of_difference(chance.random(200), chance.random(200), 3) > 0.01


def test_a_default_below_its_bar_is_told() -> None:
    low, high = found(), judge.judged(QUERIES, [["a", "b"], ["c"], ["d"]], RANKINGS, np.ones(3))
    assert retrieval_quality.unmet({"xquad-zh": {"lexical": low, "dense": low, "default": high}}) == []
    assert retrieval_quality.unmet({"xquad-zh": {"lexical": high, "dense": low, "default": low}})
    assert retrieval_quality.unmet({"scifact": {"lexical": low, "dense": low, "default": low}})


def test_the_chart_is_well_formed_and_holds_every_value() -> None:
    drawn = chart.bars("a < b", {"s": {"lexical": (0.91, 0.9, 0.93), "dense": (0.62, 0.6, 0.64)}}, 0.6)
    texts = [element.text for element in ElementTree.fromstring(drawn).iter() if element.text]  # noqa: S314 - our own
    assert ".91" in texts and ".62" in texts and "a < b (axis from 0.6)" in texts


@pytest.mark.parametrize(
    "arguments",
    [["--sets", "scifact,none"], ["--systems", "magic"], ["--queries", "1"], ["--json", "/nowhere/at/all.json"]],
)
def test_wrong_options_end_with_a_message(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        retrieval_quality.options(arguments)
    assert arguments[0] in capsys.readouterr().err


def test_quick_runs_keep_what_the_queries_ask_for(tmp_path: Path) -> None:
    try:
        whole = sets.xquad("zh")
    except PreconditionFailed as error:
        pytest.skip(str(error))
    quick = retrieval_quality.chosen(whole, retrieval_quality.options(["--quick"]))
    ids = {document.id for document in quick.documents}
    assert len(quick.queries) == retrieval_quality.QUICK_QUERIES
    assert all(asked.relevant <= ids for asked in quick.queries)
    assert 0.3 < sum(asked.held_out for asked in whole.queries) / len(whole.queries) < 0.7
