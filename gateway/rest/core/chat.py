"""What the chat APIs of OpenAI, Perplexity and Ollama have in common."""

from typing import Any

from citemesh.client.types import DoneEvent
from citemesh.errors import InvalidInput

MESSAGES_SCHEMA = {"type": "array", "items": {"type": "object"}}
FORMAT_TYPES = ("", "text")


def only_text(field: str, response_format: dict[str, Any]) -> None:
    """Raises InvalidInput where another form than text is asked for: an answer here is cited prose."""
    kind = response_format.get("type") or ""
    if kind not in FORMAT_TYPES:
        raise InvalidInput(f"{field}.type", f"{str(kind)[:40]!r} is not supported", "answers are cited text: use text")


def finish_reason(done: DoneEvent) -> str:
    """Why it ended, in the words of the chat APIs."""
    return "length" if done.finish == "length" else "stop"
