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


def case(judged: Judged) -> Case:
    """A judged question as it is kept."""
    asked, outcome = judged.asked, judged.outcome
    return Case(
        id=asked.id,
        question=asked.question,
        answer=outcome.text,
        right=asked.answers,
        sources=tuple(_sources(asked, outcome)),
        unsupported=sum(not one.supported for one in outcome.sentences),
        error=outcome.error,
        notice=outcome.done.notice if outcome.done else "",
        measures=judged.measures,
        missing=() if outcome.error else tuple(_missing(asked, outcome)),
        sentences=len(outcome.sentences),
        model=outcome.done.model if outcome.done else "",
    )


def _sources(asked: Asked, outcome: Outcome) -> Iterator[str]:
    """Each numbered source in words, and whether it is evidence and is cited."""
    cited = {one.number for sentence in outcome.sentences for one in sentence.citations}
    numbered = {one.number: one for one in reversed(outcome.sources)}
    evidence = {one.number for one in outcome.sources if any(holds(it, one) for it in asked.evidence)}
    for number, one in sorted(numbered.items()):
        marks = [word for word, found in (("evidence", evidence), ("cited", cited)) if number in found]
        told = one.title or f"{one.document_id}: {_beginning(one.text)}"
        yield f"[{number}] {told}" + (f" ({', '.join(marks)})" if marks else "")


def _missing(asked: Asked, outcome: Outcome) -> Iterator[str]:
    for one in asked.evidence:
        if not any(holds(one, source) for source in outcome.sources):
            yield one.title or one.document_id or one.quote


def _beginning(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[:SHOWN].rstrip() + "…"


def compared(first: EvaluationRecord, second: EvaluationRecord) -> dict[str, Difference]:
    """Each measure that both have of the same questions: the second less the first. Raises InvalidInput for none."""
    others = {one.id: one for one in second.cases}
    pairs = [(one, others[one.id]) for one in first.cases if one.id in others]
    if not pairs:
        raise InvalidInput("--compare", "the runs have no question in common", "compare runs of one set of questions")
    return {name: difference(*sides) for name in (*QUALITY, *COST) if (sides := _sides(pairs, name))}


def _sides(pairs: Sequence[tuple[Case, Case]], name: str) -> tuple[list[float], list[float]] | None:
    both = [(a.measures[name], b.measures[name]) for a, b in pairs if name in a.measures and name in b.measures]
    return ([a for a, _ in both], [b for _, b in both]) if both else None


def to_json(record: EvaluationRecord, differences: Mapping[str, Difference]) -> dict[str, Any]:
    """A run as plain values."""
    return {
        "version": VERSION,
        "name": record.name,
        "asked_with": dict(record.asked_with),
        "figures": {name: asdict(one) for name, one in record.figures().items()},
        "differences": {name: asdict(one) for name, one in differences.items()},
        "cases": [asdict(one) for one in record.cases],
    }


def _kept(value: dict[str, Any]) -> Case:
    lists = {name: tuple(value.get(name, ())) for name in ("right", "sources", "missing")}
    return Case(**(value | lists))


def read(path: Path) -> EvaluationRecord:
    """A run that was written. Raises InvalidInput."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["version"] != VERSION:
            raise InvalidInput(str(path), f"it is of version {found['version']}", f"this reads version {VERSION}")
        return EvaluationRecord(found["name"], found["asked_with"], tuple(map(_kept, found["cases"])))
    except OSError as error:
        raise InvalidInput(str(path), f"it can't be read: {error.strerror}", "name a file of --json") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(str(path), f"it is no run: {error!r}", "name a file of --json") from None
