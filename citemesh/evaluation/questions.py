"""A set of questions: JSON Lines, one question a line."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citemesh.errors import InvalidInput

MOST_BYTES = 256 << 20
FORM = (
    'a line is {"question": "…"} and may have "id", "answers": ["…"], '
    '"evidence": [{"document_id" | "title" | "quote": "…"}]'
)
_EVIDENCE_FIELDS = ("document_id", "title", "quote")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where the answer stands: a document by id or title, or a passage by words that it holds."""

    document_id: str = ""
    title: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class EvaluationQuestion:
    """A question, its right answers, and the evidence for them; both may be empty."""

    id: str
    text: str
    answers: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


def read(path: Path) -> tuple[EvaluationQuestion, ...]:
    """Reads the questions of a file. Raises InvalidInput, which names file, line and fault."""
    questions = tuple(_parse_lines(path, _read_lines(path)))
    if not questions:
        raise InvalidInput(str(path), "it holds no question", FORM)
    _check_ids(path, questions)
    return questions


def _read_lines(path: Path) -> list[str]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InvalidInput(str(path), f"it is over {MOST_BYTES >> 20} MiB", "split it")
        return path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InvalidInput(str(path), f"it can't be read: {error.strerror}", "name a file of questions") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(str(path), f"byte {error.start} is not UTF-8", "save it as UTF-8") from None


def _parse_lines(path: Path, lines: list[str]) -> Iterator[EvaluationQuestion]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            value = json.loads(line)
        except ValueError as error:
            raise InvalidInput(place, f"it is no JSON: {error}", FORM) from None
        yield _question(place, str(number), value)


def _question(place: str, number: str, value: Any) -> EvaluationQuestion:
    if not isinstance(value, dict) or not isinstance(value.get("question"), str) or not value["question"].strip():
        raise InvalidInput(place, "it has no question", FORM)
    answers = _texts(f"{place}: answers", value.get("answers", []))
    evidence = value.get("evidence", [])
    if not isinstance(evidence, list):
        raise InvalidInput(f"{place}: evidence", "it is no list", FORM)
    pieces = tuple(_evidence(f"{place}: evidence[{index}]", piece) for index, piece in enumerate(evidence))
    return EvaluationQuestion(str(value.get("id", number)), value["question"].strip(), answers, pieces)


def _texts(place: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) and text.strip() for text in value):
        raise InvalidInput(place, "it is no list of texts", FORM)
    return tuple(value)


def _evidence(place: str, value: Any) -> Evidence:
    if not isinstance(value, dict) or not any(
        isinstance(value.get(name), str) and value[name] for name in _EVIDENCE_FIELDS
    ):
        raise InvalidInput(place, f"it names none of {', '.join(_EVIDENCE_FIELDS)}", FORM)
    return Evidence(*(str(value.get(name, "")) for name in _EVIDENCE_FIELDS))


def _check_ids(path: Path, questions: tuple[EvaluationQuestion, ...]) -> None:
    ids: set[str] = set()
    for question in questions:
        if question.id in ids:
            raise InvalidInput(str(path), f"the id {question.id!r} stands twice", "give each question its own")
        ids.add(question.id)
