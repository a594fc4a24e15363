"""A set of questions, measured by hand and by the code."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from citemesh.client.types import (
    AskEvent,
    Citation,
    CitationEvent,
    DeltaEvent,
    DoneEvent,
    Location,
    Question,
    Source,
    SourcesEvent,
    Span,
    Usage,
)
from citemesh.errors import InvalidInput, Unauthenticated, Unavailable
from citemesh.evaluation import certainty, measures, questions, record, report
from citemesh.evaluation.outcome import Outcome
from citemesh.evaluation.questions import Asked, Evidence
from citemesh.evaluation.run import Judged, evaluate
from cli import main

PLACE = Location(Span(0, 9))
EVIL = "<script>alert(1)</script>"


def source(number: int, document: str, text: str, title: str = "") -> Source:
    return Source(number, f"c{number}{document}", document, "default", title or document, "", PLACE, text, 0.5)


SOURCES = (
    source(1, "pump", "The pump runs at 40 bar.", "Pump manual"),
    source(2, "history", "It was built in 1987."),
    source(3, "whales", "Whales live in the sea."),
)
ASKED = Asked(
    "q1", "At what pressure?", ("40 bar", "forty bar"), (Evidence(title="pump MANUAL"), Evidence(document_id="history"))
)


class Answers:
    """Answers with one text, two sentences of which the first is cited; some questions fail."""

    def __init__(self, cited: tuple[int, ...] = (1, 3), failing: dict[str, Exception] | None = None) -> None:
        self.cited = cited
        self.failing = failing or {}
        self.asked: list[Question] = []

    async def ask(self, question: Question, timeout_s: float = 1.0) -> AsyncIterator[AskEvent]:
        self.asked.append(question)
        if question.question in self.failing:
            raise self.failing[question.question]
        yield SourcesEvent(SOURCES)
        yield DeltaEvent("It runs at 40 bar. ")
        citations = tuple(Citation(n, "d", "default", PLACE, "quote", 0.9) for n in self.cited)
        yield CitationEvent(Span(0, 18), citations, bool(citations))
        yield DeltaEvent("So they say.")
        yield CitationEvent(Span(19, 31), (), False)
        yield DoneEvent("complete", "generated", Usage(100, 9), self.cited, {}, "", "m", searches=2)


async def judge(answers: Answers, *asked: Asked) -> tuple[Judged, ...]:
    done: list[int] = []
    found = await evaluate(answers, asked, Question("", mode="generated"), 2, 5.0, lambda: done.append(1))
    assert len(done) == len(asked)
    return found


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
    bare, failing = Asked("q2", "Anything?"), Asked("q3", "Broken?", ("yes",), (Evidence(quote="built in 1987"),))
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


def test_evidence_is_known_by_document_title_or_words() -> None:
    one = source(1, "泵", "水泵在四十巴下运行。每月需要加油。", "水泵手册")
    assert measures.holds(Evidence(quote="四十巴下运行"), one)
    assert measures.holds(Evidence(document_id="泵", quote="需要加油"), one)
    assert not measures.holds(Evidence(document_id="other", quote="需要加油"), one)
    assert not measures.holds(Evidence(title="水泵"), one)


def test_right_answers_are_found_as_words() -> None:
    assert measures.words("The Pump's ４０ bar, 水泵!") == ["pump", "s", "40", "bar", "水", "泵"]
    assert measures.f1(["40", "bar"], ["it", "runs", "at", "40", "bar"]) == pytest.approx(4 / 7)
    assert measures.f1([], ["a"]) == 0.0


@given(st.lists(st.text(max_size=5), max_size=20), st.lists(st.text(max_size=5), max_size=20))
def test_f1_is_even_handed_and_bounded(one: list[str], other: list[str]) -> None:
    assert 0 <= measures.f1(one, other) <= 1
    assert measures.f1(one, other) == measures.f1(other, one)
    assert not one or measures.f1(one, one) == 1


def test_a_difference_is_sure_only_where_it_is() -> None:
    first = [0.1 * (n % 7) for n in range(60)]
    better = certainty.difference(first, [one + 0.2 + 0.01 * (n % 3) for n, one in enumerate(first)])
    assert better.p < 0.01 and better.low > 0.19
    noise = certainty.difference(first, [one + (0.1 if n % 2 else -0.1) for n, one in enumerate(first)])
    assert noise.p > 0.5 and noise.low < 0 < noise.high
    alike = certainty.difference(first, first)
    assert (alike.mean, alike.p) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "it is no JSON"),
        ("[]", "it has no question"),
        ('{"question": " "}', "it has no question"),
        ('{"question": "q", "answers": "a"}', "answers: it is no list"),
        ('{"question": "q", "evidence": [{"page": 3}]}', "it names none of"),
        ('{"id": 1, "question": "q"}\n{"id": "1", "question": "r"}', "stands twice"),
        ("", "it holds no question"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, fault: str) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text(f"\n{line}\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=fault):
        questions.read(file)


def test_a_set_is_read(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    lines = [{"question": "谁建的？", "answers": ["张三"], "evidence": [{"title": "历史"}]}, {"id": 7, "question": "b"}]
    file.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n\n", encoding="utf-8")
    first, second = questions.read(file)
    assert first == Asked("1", "谁建的？", ("张三",), (Evidence(title="历史"),))
    assert second.id == "7"
    with pytest.raises(InvalidInput, match="can't be read"):
        questions.read(tmp_path / "none")


async def test_a_run_is_kept_compared_and_shown_worst_first(tmp_path: Path) -> None:
    asked = [ASKED, Asked("q2", EVIL, (EVIL,), (Evidence(document_id="pump"),)), Asked("q3", "Broken?", ("yes",))]
    bad = await judge(Answers((3,), {"Broken?": Unavailable(EVIL, 1.0)}), *asked)
    good = await judge(Answers((1, 2)), *asked)
    first = record.EvaluationRecord("one", {"mode": "generated"}, tuple(map(record.case, bad)))
    second = record.EvaluationRecord("two", {}, tuple(map(record.case, good)))
    file = tmp_path / "one.json"
    file.write_text(json.dumps(record.to_json(first, {})), encoding="utf-8")
    kept = record.read(file)
    assert kept == first
    differences = record.compared(kept, second)
    assert differences["citation_recall"].mean == pytest.approx(1.0)
    assert differences["answered"].questions == 3
    page = report.page(first, differences, "two")
    assert EVIL not in page and "&lt;script&gt;" in page
    places = [page.index(f"{name} ·") for name in ("q3", "q2", "q1")]
    assert places == sorted(places)
    with pytest.raises(InvalidInput, match="no question in common"):
        record.compared(kept, record.EvaluationRecord("none", {}, ()))
    file.write_text('{"version": 9}', encoding="utf-8")
    with pytest.raises(InvalidInput, match="version 9"):
        record.read(file)
    file.write_text("[]", encoding="utf-8")
    with pytest.raises(InvalidInput, match="no run"):
        record.read(file)


def test_a_case_says_what_was_missing_and_a_page_what_a_small_model_means() -> None:
    missing = Asked("q1", "Who?", ("Ada",), (Evidence(title=EVIL), Evidence(document_id="pump")))
    outcome = Outcome("It runs.", list(SOURCES), [CitationEvent(Span(0, 8), (), False)])
    outcome.done = DoneEvent("complete", "generated", Usage(), (), {}, "", "SmolLM2-135M-Instruct")
    kept = record.case(Judged(missing, outcome, measures.measures(missing, outcome)))
    assert (kept.missing, kept.sentences, kept.unsupported) == ((EVIL,), 1, 1)
    assert kept.sources[0] == "[1] Pump manual (evidence)"
    page = report.page(record.EvaluationRecord("one", {}, (kept,)), {})
    assert "135 million parameters" in page and "Evidence that was not found" in page and EVIL not in page


@pytest.mark.parametrize("name", ["gpt-4M0", "Qwen3-8B", "m", "model-1500M"])
def test_only_a_name_that_tells_calls_a_model_small(name: str) -> None:
    assert not report.small([name])


def test_a_run_of_an_earlier_release_is_read(tmp_path: Path) -> None:
    kept = record.to_json(
        record.EvaluationRecord("old", {}, (record.Case("1", "q", "a", (), ("s",), 0, "", "", {}),)), {}
    )
    for name in ("missing", "sentences", "model"):
        del kept["cases"][0][name]
    file = tmp_path / "old.json"
    file.write_text(json.dumps(kept), encoding="utf-8")
    assert record.read(file).cases[0].missing == ()


def test_the_command_names_a_bad_file(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["eval", str(tmp_path / "none.jsonl")])
    assert result.exit_code != 0
    assert "can't be read" in result.output
