"""A question whose measures are counted by hand, and a client that always answers it alike."""

from collections.abc import AsyncIterator

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
from citemesh.evaluation.questions import EvaluationQuestion, Evidence
from citemesh.evaluation.run import MeasuredAnswer, evaluate

PLACE = Location(Span(0, 9))
EVIL = "<script>alert(1)</script>"


def source(number: int, document: str, text: str, title: str = "") -> Source:
    return Source(number, f"c{number}{document}", document, "default", title or document, "", PLACE, text, 0.5)


SOURCES = (
    source(1, "pump", "The pump runs at 40 bar.", "Pump manual"),
    source(2, "history", "It was built in 1987."),
    source(3, "whales", "Whales live in the sea."),
)
ASKED = EvaluationQuestion(
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


async def judge(answers: Answers, *asked: EvaluationQuestion) -> tuple[MeasuredAnswer, ...]:
    done: list[int] = []
    found = await evaluate(answers, asked, Question("", mode="generated"), 2, 5.0, lambda: done.append(1))
    assert len(done) == len(asked)
    return found
