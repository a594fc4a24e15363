"""A run as JSON: written, read back, and compared with another run."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from citemesh.errors import InvalidInput
from citemesh.evaluation.certainty import Difference, Figure, difference, figure
from citemesh.evaluation.measures import COST, QUALITY, is_evidence
from citemesh.evaluation.outcome import Outcome
from citemesh.evaluation.questions import EvaluationQuestion
from citemesh.evaluation.run import MeasuredAnswer

VERSION = 1
EXCERPT_CHARACTERS = 90
"""Length of the excerpt that stands for a document without a title."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question of a run, as the record keeps it.

    Attributes:
        right: the right answers.
        missing: the evidence that was not among the sources.
        unsupported: how many of the `sentences` no source was found to support.
        model: the model that wrote the answer; empty where its sentences were quoted.
    """

    id: str
    question: str
    answer: str
    right: tuple[str, ...]
    sources: tuple[str, ...]
    unsupported: int
    error: str
    notice: str
    measures: Mapping[str, float]
    missing: tuple[str, ...] = ()
    sentences: int = 0
    model: str = ""


@dataclass(frozen=True, slots=True)
class EvaluationRecord:
    """A run: its name, how it asked, and its cases."""

    name: str
    asked_with: Mapping[str, Any]
    cases: tuple[Case, ...]

    def models(self) -> tuple[str, ...]:
        """Returns the names of the models that wrote answers, each once."""
        return tuple(dict.fromkeys(case.model for case in self.cases if case.model))

    def figures(self) -> dict[str, Figure]:
        """Returns the figure of each measure that any case has."""
        return {name: figure(values) for name in (*QUALITY, *COST) if (values := self._values(name))}

    def _values(self, name: str) -> list[float]:
        return [case.measures[name] for case in self.cases if name in case.measures]


def case(measured: MeasuredAnswer) -> Case:
    """Returns a measured answer as the record keeps it."""
    question, outcome = measured.question, measured.outcome
    return Case(
        id=question.id,
        question=question.text,
        answer=outcome.text,
        right=question.answers,
        sources=tuple(_source_lines(question, outcome)),
        unsupported=sum(not sentence.supported for sentence in outcome.sentences),
        error=outcome.error,
        notice=outcome.done.notice if outcome.done else "",
        measures=measured.measures,
        missing=() if outcome.error else tuple(_missing(question, outcome)),
        sentences=len(outcome.sentences),
        model=outcome.done.model if outcome.done else "",
    )


def _source_lines(question: EvaluationQuestion, outcome: Outcome) -> Iterator[str]:
    """Yields a line for each numbered source, which says whether it is evidence and whether it is cited."""
    cited = {citation.number for sentence in outcome.sentences for citation in sentence.citations}
    numbered = {source.number: source for source in reversed(outcome.sources)}
    evidence = {source.number for source in outcome.sources if is_evidence(source, question.evidence)}
    for number, source in sorted(numbered.items()):
        marks = [word for word, numbers in (("evidence", evidence), ("cited", cited)) if number in numbers]
        title = source.title or f"{source.document_id}: {_excerpt(source.text)}"
        yield f"[{number}] {title}" + (f" ({', '.join(marks)})" if marks else "")


def _missing(question: EvaluationQuestion, outcome: Outcome) -> Iterator[str]:
    for evidence in question.evidence:
        if not any(is_evidence(source, (evidence,)) for source in outcome.sources):
            yield evidence.title or evidence.document_id or evidence.quote


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT_CHARACTERS else line[:EXCERPT_CHARACTERS].rstrip() + "…"


def compare(first: EvaluationRecord, second: EvaluationRecord) -> dict[str, Difference]:
    """Returns how the second run differs from the first, by measure, over the questions that both have.

    Raises:
        InvalidInput: the runs have no question in common.
    """
    later = {case.id: case for case in second.cases}
    pairs = [(case, later[case.id]) for case in first.cases if case.id in later]
    if not pairs:
        raise InvalidInput("--compare", "the runs have no question in common", "compare runs of one set of questions")
    return {name: difference(*values) for name in (*QUALITY, *COST) if (values := _paired_values(pairs, name))}


def _paired_values(pairs: Sequence[tuple[Case, Case]], name: str) -> tuple[list[float], list[float]] | None:
    """Returns the values of a measure of the first and the second cases; None where no pair has it on both sides."""
    values = [(a.measures[name], b.measures[name]) for a, b in pairs if name in a.measures and name in b.measures]
    return ([a for a, _ in values], [b for _, b in values]) if values else None


def to_json(record: EvaluationRecord, differences: Mapping[str, Difference]) -> dict[str, Any]:
    """Returns a run as plain values, which `read` takes."""
    return {
        "version": VERSION,
        "name": record.name,
        "asked_with": dict(record.asked_with),
        "figures": {name: asdict(figure) for name, figure in record.figures().items()},
        "differences": {name: asdict(difference) for name, difference in differences.items()},
        "cases": [asdict(case) for case in record.cases],
    }


def _read_case(value: dict[str, Any]) -> Case:
    lists = {name: tuple(value.get(name, ())) for name in ("right", "sources", "missing")}
    return Case(**(value | lists))


def read(path: Path) -> EvaluationRecord:
    """Reads a run from a file. Raises InvalidInput where the file can't be read or holds no run of this version."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        if value["version"] != VERSION:
            raise InvalidInput(str(path), f"it is of version {value['version']}", f"this reads version {VERSION}")
        return EvaluationRecord(value["name"], value["asked_with"], tuple(map(_read_case, value["cases"])))
    except OSError as error:
        raise InvalidInput(str(path), f"it can't be read: {error.strerror}", "name a file that --json wrote") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(str(path), f"it is no run: {error!r}", "name a file that --json wrote") from None
