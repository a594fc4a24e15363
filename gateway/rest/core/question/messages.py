"""A conversation as chat APIs send it: the last user message is the question, what stands before it the history."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from citemesh.errors import InvalidInput
from gateway.query.question import MOST_TURNS, check_text
from gateway.rest.core.body import as_kind
from gateway.rest.core.errors import whole

TEXT_PARTS = ("text", "input_text", "output_text")
_MARKERS = re.compile(r"\s?\[\d{1,3}\]")


@dataclass(frozen=True, slots=True)
class ChatHistory:
    """What is asked and what was said before; unused names the messages that no answer is made of."""

    question: str
    history: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Message:
    field: str
    role: str
    text: str


def conversation(field: str, messages: Any) -> ChatHistory:
    """Reads a list of messages. Raises InvalidInput naming the message at fault."""
    turns = as_kind(field, messages, list)
    roles = [as_kind(f"{field}[{at}]", turn, dict).get("role") for at, turn in enumerate(turns)]
    question_at = max((at for at, role in enumerate(roles) if role == "user"), default=-1)
    if question_at < 0:
        raise InvalidInput(field, "has no message of the role user", "send the question as a user message")
    question = _text(f"{field}[{question_at}].content", turns[question_at].get("content"))
    check_text(f"{field}[{question_at}].content", question)
    earlier = list(_said(field, turns[:question_at]))
    unused = [
        *_unused(field, roles, question_at),
        *(f"{earlier_turn.field} (too long ago)" for earlier_turn in earlier[:-MOST_TURNS]),
    ]
    return ChatHistory(
        question, tuple((earlier_turn.role, earlier_turn.text) for earlier_turn in earlier[-MOST_TURNS:]), tuple(unused)
    )


def _said(field: str, turns: Sequence[dict[str, Any]]) -> Iterable[_Message]:
    """What user and assistant said; an answer's markers are left out, since they name the sources of that answer."""
    for at, turn in enumerate(turns):
        role, content = turn.get("role"), turn.get("content")
        if role not in ("user", "assistant") or content is None:
            continue
        text = _text(f"{field}[{at}].content", content)
        text = _MARKERS.sub("", text) if role == "assistant" else text
        if text.strip():
            check_text(f"{field}[{at}].content", text)
            yield _Message(f"{field}[{at}]", role, text)


def _unused(field: str, roles: Sequence[Any], question_at: int) -> Iterable[str]:
    for at, role in enumerate(roles):
        if role not in ("user", "assistant") or at > question_at:
            yield f"{field}[{at}] ({whole(str(role)[:20])})"


def _text(field: str, content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = []
    for at, part in enumerate(as_kind(field, content, list)):
        if as_kind(f"{field}[{at}]", part, dict).get("type") not in TEXT_PARTS:
            raise InvalidInput(f"{field}[{at}].type", "is not text", "send parts of the type text")
        parts.append(as_kind(f"{field}[{at}].text", part.get("text"), str))
    return "\n".join(parts)
