"""A run as JSON: written, read back, and compared with another."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from citemesh.errors import InvalidInput
from citemesh.evaluation.certainty import Difference, Figure, difference, figure
from citemesh.evaluation.measures import COST, QUALITY, holds
from citemesh.evaluation.outcome import Outcome
from citemesh.evaluation.questions import Asked
from citemesh.evaluation.run import Judged

VERSION = 1
SHOWN = 90
"""Characters of a document without a title that stand for it."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question of a run, as it is kept.

    Attributes:
        right: answers that would have been right.
        missing: evidence that was not among the sources.
        unsupported: sentences that no source was found to support, of all `sentences`.
        model: what wrote the answer; empty where its sentences were quoted.
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
    """A run: what it was called, how it asked, and its cases."""

    name: str
    asked_with: Mapping[str, Any]
    cases: tuple[Case, ...]

    def models(self) -> tuple[str, ...]:
        """Names of the models that wrote, each once."""
        return tuple(dict.fromkeys(case.model for case in self.cases if case.model))

    def figures(self) -> dict[str, Figure]:
        """Each measure that any case has."""
        return {name: figure(values) for name in (*QUALITY, *COST) if (values := self._values(name))}

    def _values(self, name: str) -> list[float]:
        return [case.measures[name] for case in self.cases if name in case.measures]


def case(answer: Judged) -> Case:
    """A judged question as it is kept."""
    question, outcome = answer.asked, answer.outcome
    return Case(
        id=question.id,
        question=question.question,
        answer=outcome.text,
        right=question.answers,
        sources=tuple(_sources(question, outcome)),
        unsupported=sum(not sentence.supported for sentence in outcome.sentences),
        error=outcome.error,
        notice=outcome.done.notice if outcome.done else "",
        measures=answer.measures,
        missing=() if outcome.error else tuple(_missing(question, outcome)),
        sentences=len(outcome.sentences),
        model=outcome.done.model if outcome.done else "",
    )


def _sources(question: Asked, outcome: Outcome) -> Iterator[str]:
    """Each numbered source in words, and whether it is evidence and is cited."""
    cited = {source.number for sentence in outcome.sentences for source in sentence.citations}
    numbered = {source.number: source for source in reversed(outcome.sources)}
    evidence = {
        source.number for source in outcome.sources if any(holds(needed, source) for needed in question.evidence)
    }
    for number, source in sorted(numbered.items()):
        marks = [word for word, is_marked in (("evidence", evidence), ("cited", cited)) if number in is_marked]
        title = source.title or f"{source.document_id}: {_beginning(source.text)}"
        yield f"[{number}] {title}" + (f" ({', '.join(marks)})" if marks else "")


def _missing(question: Asked, outcome: Outcome) -> Iterator[str]:
    for needed in question.evidence:
        if not any(holds(needed, source) for source in outcome.sources):
            yield needed.title or needed.document_id or needed.quote


def _beginning(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[:SHOWN].rstrip() + "…"


def compared(first: EvaluationRecord, second: EvaluationRecord) -> dict[str, Difference]:
    """Each measure that both have of the same questions: the second less the first. Raises InvalidInput for none."""
    by_id = {case_of_second.id: case_of_second for case_of_second in second.cases}
    pairs = [(case_of_second, by_id[case_of_second.id]) for case_of_second in first.cases if case_of_second.id in by_id]
    if not pairs:
        raise InvalidInput("--compare", "the runs have no question in common", "compare runs of one set of questions")
    return {name: difference(*sides) for name in (*QUALITY, *COST) if (sides := _sides(pairs, name))}


def _sides(pairs: Sequence[tuple[Case, Case]], name: str) -> tuple[list[float], list[float]] | None:
    values = [(a.measures[name], b.measures[name]) for a, b in pairs if name in a.measures and name in b.measures]
    return ([a for a, _ in values], [b for _, b in values]) if values else None


def to_json(record: EvaluationRecord, differences: Mapping[str, Difference]) -> dict[str, Any]:
    """A run as plain values."""
    return {
        "version": VERSION,
        "name": record.name,
        "asked_with": dict(record.asked_with),
        "figures": {name: asdict(case_record) for name, case_record in record.figures().items()},
        "differences": {name: asdict(case_record) for name, case_record in differences.items()},
        "cases": [asdict(case_record) for case_record in record.cases],
    }


def _kept(value: dict[str, Any]) -> Case:
    lists = {name: tuple(value.get(name, ())) for name in ("right", "sources", "missing")}
    return Case(**(value | lists))


def read(path: Path) -> EvaluationRecord:
    """A run that was written. Raises InvalidInput."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["version"] != VERSION:
            raise InvalidInput(str(path), f"it is of version {content['version']}", f"this reads version {VERSION}")
        return EvaluationRecord(content["name"], content["asked_with"], tuple(map(_kept, content["cases"])))
    except OSError as error:
        raise InvalidInput(str(path), f"it can't be read: {error.strerror}", "name a file of --json") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(str(path), f"it is no run: {error!r}", "name a file of --json") from None
