"""What a question must be before any work is done for it."""

from citemesh.client.types import Question
from citemesh.contract.bounds import LONGEST_QUERY, MOST_ANSWER_TOKENS, MOST_HOPS, MOST_RELATED_QUESTIONS
from citemesh.contract.filters import check_collections, check_filter, check_filter_values, check_whole
from citemesh.contract.source_types import check_source_types
from citemesh.errors import InvalidInput
from citemesh.text.languages import LANGUAGE_NAMES

MOST_TURNS = 100
LONGEST_ID = 128
MODES = ("", "generated", "extractive")
LENGTHS = ("", "short", "standard", "detailed")
STYLES = ("", "prose", "list", "steps")
ROLES = ("user", "assistant")


def check(question: Question, text_field: str = "question") -> None:
    """Raises InvalidInput for a value out of range. The one check of a question.

    text_field: what the caller's request calls the text.
    """
    check_text(text_field, question.question)
    check_whole("collection", question.collection)
    check_source_types("source_types", question.source_types)
    check_filter("filter", question.filter)
    check_filter_values("filter", question.filter)
    check_collections("more_collections", question.more_collections)
    _check_form(question)
    _check_past(question)


def check_text(field: str, text: str, remedy: str = "write a question") -> None:
    """Raises InvalidInput for a text that is empty, blank, too long or not whole."""
    check_whole(field, text)
    if not text.strip():
        raise InvalidInput(field, "is empty", remedy)
    if len(text) > LONGEST_QUERY:
        fault = f"is {len(text)} characters long"
        raise InvalidInput(field, fault, f"shorten it to {LONGEST_QUERY} characters")


def _check_form(question: Question) -> None:
    """How the answer is to be made."""
    _check_one_of("mode", question.mode, MODES)
    _check_one_of("length", question.length, LENGTHS)
    _check_one_of("style", question.style, STYLES)
    _check_between("max_tokens", question.max_tokens, MOST_ANSWER_TOKENS, "0 for the default")
    _check_between("related_questions", question.related_questions, MOST_RELATED_QUESTIONS, "0 for none")
    _check_between("max_hops", question.max_hops, MOST_HOPS, "0 for the default")
    if question.temperature is not None and not 0 <= question.temperature <= 2:
        raise InvalidInput("temperature", f"is {question.temperature}", "use 0 to 2")
    if question.answer_language and question.answer_language not in LANGUAGE_NAMES:
        fault = f"{question.answer_language[:40]!r} is no language"
        raise InvalidInput("answer_language", fault, 'use a code of ISO 639-1, such as "en" or "zh"')


def _check_past(question: Question) -> None:
    """What was said before."""
    check_whole("thread_id", question.thread_id)
    if len(question.thread_id) > LONGEST_ID:
        raise InvalidInput("thread_id", f"is {len(question.thread_id)} characters long", "send an id that was given")
    if question.thread_id and (question.history or question.start_thread):
        raise InvalidInput("thread_id", "can't be together with history or start_thread", "send one of them")
    if question.history and question.start_thread:
        raise InvalidInput("start_thread", "can't be together with history", "send one of them")
    if len(question.history) > MOST_TURNS:
        raise InvalidInput("history", f"has {len(question.history)} turns", f"send the last {MOST_TURNS}")
    for at, (role, text) in enumerate(question.history):
        if role not in ROLES:
            raise InvalidInput(f"history[{at}].role", f"is {role[:40]!r}", f"use {' or '.join(ROLES)}")
        check_text(f"history[{at}].text", text, "leave the turn out")


def _check_one_of(field: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidInput(field, f"is {value[:40]!r}", f"use {' or '.join(filter(None, known))}")


def _check_between(field: str, value: int, most: int, zero: str) -> None:
    if not 0 <= value <= most:
        raise InvalidInput(field, f"is {value}", f"use 1 to {most}, or {zero}")
