"""A set of questions, asked and measured."""

import pytest

from citemesh.errors import Unauthenticated, Unavailable
from citemesh.evaluation.questions import EvaluationQuestion, Evidence
from tests.unit.evaluation.sample_answers import ASKED, Answers, judge


async def test_an_answer_is_measured() -> None:
    answers = Answers()
    [judged] = await judge(answers, ASKED)
    found = judged.measures
    assert answers.asked[0].mode == "generated"
    assert found["evidence_recall"] == 1.0
    assert found["citation_recall"] == 0.5  # history is not cited
    assert found["citation_precision"] == 0.5  # whales is no evidence
    assert found["supported"] == 0.5
    assert found["answer_match"] == 1.0
    assert (found["prompt_tokens"], found["completion_tokens"], found["searches"]) == (100.0, 9.0, 2.0)
    assert 0 < found["first_text_s"] <= found["total_s"]


async def test_what_cannot_be_measured_is_absent_and_what_failed_counts_as_nothing() -> None:
    bare, failing = (
        EvaluationQuestion("q2", "Anything?"),
        EvaluationQuestion("q3", "Broken?", ("yes",), (Evidence(quote="built in 1987"),)),
    )
    found = await judge(Answers((), {"Broken?": Unavailable("generation", 1.0)}), bare, failing)
    assert not {"evidence_recall", "answer_match", "citation_precision"} & found[0].measures.keys()
    assert found[1].measures == {
        "answered": 0.0,
        "evidence_recall": 0.0,
        "citation_recall": 0.0,
        "answer_match": 0.0,
        "answer_f1": 0.0,
    }
    assert found[1].outcome.error.startswith("UNAVAILABLE")


async def test_a_refused_key_ends_the_run() -> None:
    with pytest.raises(Unauthenticated):
        await judge(Answers((), {"At what pressure?": Unauthenticated("no key")}), ASKED)
