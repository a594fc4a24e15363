"""The set of questions: JSON Lines, one question a line."""

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
_PARTS = ("document_id", "title", "quote")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an answer has to be found in: a document by id or title, or a passage by words that it holds."""

    document_id: str = ""
    title: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the answers that are right, and the evidence for them; both may be empty."""

    id: str
    question: str
    answers: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


def read(path: Path) -> tuple[Asked, ...]:
    """The questions of a file. Raises InvalidInput, which names file, line and fault."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InvalidInput(str(path), f"it is over {MOST_BYTES >> 20} MiB", "split it")
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InvalidInput(str(path), f"it can't be read: {error.strerror}", "name a file of questions") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(str(path), f"byte {error.start} is not UTF-8", "save it as UTF-8") from None
    found = tuple(_asked(path, lines))
    if not found:
        raise InvalidInput(str(path), "it holds no question", FORM)
    _check_ids(path, found)
    return found


def _asked(path: Path, lines: list[str]) -> Iterator[Asked]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            value = json.loads(line)
        except ValueError as error:
            raise InvalidInput(where, f"it is no JSON: {error}", FORM) from None
        yield _one(where, str(number), value)


def _one(where: str, number: str, value: Any) -> Asked:
    if not isinstance(value, dict) or not isinstance(value.get("question"), str) or not value["question"].strip():
        raise InvalidInput(where, "it has no question", FORM)
    answers = _texts(f"{where}: answers", value.get("answers", []))
    evidence = value.get("evidence", [])
    if not isinstance(evidence, list):
        raise InvalidInput(f"{where}: evidence", "it is no list", FORM)
    pieces = tuple(_evidence(f"{where}: evidence[{at}]", one) for at, one in enumerate(evidence))
    return Asked(str(value.get("id", number)), value["question"].strip(), answers, pieces)


def _texts(where: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise InvalidInput(where, "it is no list of texts", FORM)
    return tuple(value)


def _evidence(where: str, value: Any) -> Evidence:
    if not isinstance(value, dict) or not any(isinstance(value.get(name), str) and value[name] for name in _PARTS):
        raise InvalidInput(where, f"it names none of {', '.join(_PARTS)}", FORM)
    return Evidence(*(str(value.get(name, "")) for name in _PARTS))


def _check_ids(path: Path, found: tuple[Asked, ...]) -> None:
    seen: set[str] = set()
    for one in found:
        if one.id in seen:
            raise InvalidInput(str(path), f"the id {one.id!r} stands twice", "give each question its own")
        seen.add(one.id)
