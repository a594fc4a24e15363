"""The HTML page of a run."""

import pytest

from citemesh.client.types import CitationEvent, DoneEvent, Span, Usage
from citemesh.evaluation import measures, record, report
from citemesh.evaluation.outcome import Outcome
from citemesh.evaluation.questions import EvaluationQuestion, Evidence
from citemesh.evaluation.run import MeasuredAnswer
from tests.unit.evaluation.sample_answers import EVIL, SOURCES


def test_a_case_says_what_was_missing_and_a_page_what_a_small_model_means() -> None:
    missing = EvaluationQuestion("q1", "Who?", ("Ada",), (Evidence(title=EVIL), Evidence(document_id="pump")))
    outcome = Outcome("It runs.", list(SOURCES), [CitationEvent(Span(0, 8), (), False)])
    outcome.done = DoneEvent("complete", "generated", Usage(), (), {}, "", "SmolLM2-135M-Instruct")
    kept = record.case(MeasuredAnswer(missing, outcome, measures.measures(missing, outcome)))
    assert (kept.missing, kept.sentences, kept.unsupported) == ((EVIL,), 1, 1)
    assert kept.sources[0] == "[1] Pump manual (evidence)"
    page = report.page(record.EvaluationRecord("one", {}, (kept,)), {})
    assert "135 million parameters" in page and "Evidence that was not found" in page and EVIL not in page


@pytest.mark.parametrize(("error", "said"), [("", "answered"), ("the key is refused", "not answered")])
def test_a_case_without_evidence_or_right_answers_still_says_whether_it_was_answered(error: str, said: str) -> None:
    question = EvaluationQuestion("q1", "Who?")
    outcome = Outcome("", [], [], error=error)
    case = record.case(MeasuredAnswer(question, outcome, measures.measures(question, outcome)))
    page = report.page(record.EvaluationRecord("one", {}, (case,)), {})
    assert f"</span> {said}</span></summary>" in page


@pytest.mark.parametrize("name", ["gpt-4M0", "Qwen3-8B", "m", "model-1500M"])
def test_only_a_name_that_tells_calls_a_model_small(name: str) -> None:
    assert not report.small_model_note([name])
