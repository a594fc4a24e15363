"""Runs as records: written, read back and compared."""

import json
from pathlib import Path

import pytest

from citemesh.errors import InvalidInput, Unavailable
from citemesh.evaluation import record, report
from citemesh.evaluation.questions import EvaluationQuestion, Evidence
from tests.unit.evaluation.sample_answers import ASKED, EVIL, Answers, judge


async def test_a_run_is_kept_compared_and_shown_worst_first(tmp_path: Path) -> None:
    asked = [
        ASKED,
        EvaluationQuestion("q2", EVIL, (EVIL,), (Evidence(document_id="pump"),)),
        EvaluationQuestion("q3", "Broken?", ("yes",)),
    ]
    bad = await judge(Answers((3,), {"Broken?": Unavailable(EVIL, 1.0)}), *asked)
    good = await judge(Answers((1, 2)), *asked)
    first = record.EvaluationRecord("one", {"mode": "generated"}, tuple(map(record.case, bad)))
    second = record.EvaluationRecord("two", {}, tuple(map(record.case, good)))
    file = tmp_path / "one.json"
    file.write_text(json.dumps(record.to_json(first, {})), encoding="utf-8")
    kept = record.read(file)
    assert kept == first
    differences = record.compare(kept, second)
    assert differences["citation_recall"].mean == pytest.approx(1.0)
    assert differences["answered"].questions == 3
    page = report.page(first, differences, "two")
    assert EVIL not in page and "&lt;script&gt;" in page
    places = [page.index(f"{name} ·") for name in ("q3", "q2", "q1")]
    assert places == sorted(places)
    with pytest.raises(InvalidInput, match="no question in common"):
        record.compare(kept, record.EvaluationRecord("none", {}, ()))
    file.write_text('{"version": 9}', encoding="utf-8")
    with pytest.raises(InvalidInput, match="version 9"):
        record.read(file)
    file.write_text("[]", encoding="utf-8")
    with pytest.raises(InvalidInput, match="no run"):
        record.read(file)


def test_a_run_of_an_earlier_release_is_read(tmp_path: Path) -> None:
    kept = record.to_json(
        record.EvaluationRecord("old", {}, (record.Case("1", "q", "a", (), ("s",), 0, "", "", {}),)), {}
    )
    for name in ("missing", "sentences", "model"):
        del kept["cases"][0][name]
    file = tmp_path / "old.json"
    file.write_text(json.dumps(kept), encoding="utf-8")
    assert record.read(file).cases[0].missing == ()
