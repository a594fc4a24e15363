"""What a question must be before any work is done for it."""

from citemesh.client.types import Question
from citemesh.errors import InvalidInput, NotSupported

LONGEST_QUESTION = 32768
MOST_TOKENS = 4096
MODES = ("", "generated", "extractive")
SOURCE_TYPES = ("markdown", "text", "html", "pdf", "docx", "epub", "csv", "jsonl", "code")


def check(question: Question) -> None:
    """Raises InvalidInput for a value out of range and NotSupported for what isn't built yet."""
    check_text("question", question.question)
    check_whole("collection", question.collection)
    check_source_types("source_types", question.source_types)
    if question.thread_id:
        raise NotSupported("thread_id: threads", "leave it empty")
    if question.mode not in MODES:
        raise InvalidInput("mode", f"is {question.mode!r}", "use generated or extractive")
    if not 0 <= question.max_tokens <= MOST_TOKENS:
        fault = f"is {question.max_tokens}"
        raise InvalidInput("max_tokens", fault, f"use 1 to {MOST_TOKENS}, or 0 for the default")
    if question.temperature is not None and not 0 <= question.temperature <= 2:
        raise InvalidInput("temperature", f"is {question.temperature}", "use 0 to 2")


def check_text(field: str, text: str) -> None:
    """Raises InvalidInput for a text that is empty, blank, too long or not whole."""
    check_whole(field, text)
    if not text.strip():
        raise InvalidInput(field, "is empty", "write a question")
    if len(text) > LONGEST_QUESTION:
        fault = f"is {len(text)} characters long"
        raise InvalidInput(field, fault, f"shorten it to {LONGEST_QUESTION} characters")


def check_whole(field: str, text: str) -> None:
    """Raises InvalidInput for a text with half a character: JSON can spell a lone surrogate, UTF-8 can't."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        fault = f"has half a character (a lone surrogate) at {error.start}"
        raise InvalidInput(field, fault, "send whole Unicode characters") from None


def check_source_types(field: str, types: tuple[str, ...]) -> None:
    """Raises InvalidInput for a kind of source that there is not."""
    for kind in types:
        if kind not in SOURCE_TYPES:
            raise InvalidInput(field, f"{kind!r} is no kind of source", f"use {', '.join(SOURCE_TYPES)}")
