"""Makes a follow-up stand alone: by the rules, or by the language model where its answer holds up."""

import logging
from collections.abc import Sequence
from typing import Protocol

from citemesh.errors import CiteMeshError
from citemesh.text.words import content_words, stems
from gateway.query.model.structured import Structured
from gateway.query.plan.standalone import Exchange, standalone

log = logging.getLogger(__name__)
TURNS = 3
LONGEST_ANSWER = 600
LONGEST = 500
SYSTEM = (
    "You rewrite the last question of a conversation so that it can be understood without the rest. Keep its language "
    "and its words; put names in the place of words such as it or they. Do not answer it."
)
SCHEMA = {
    "type": "object",
    "properties": {"question": {"type": "string", "minLength": 2, "maxLength": LONGEST}},
    "required": ["question"],
    "additionalProperties": False,
}


class Rewriter(Protocol):
    """Makes a question stand alone."""

    async def rewrite(self, question: str, past: Sequence[Exchange]) -> str:
        """The question without need of what stood before it."""
        ...


class RuleRewriter:
    """Rewrites by rules."""

    async def rewrite(self, question: str, past: Sequence[Exchange]) -> str:
        """As ``standalone`` does."""
        return standalone(question, past)


class ModelRewriter:
    """Rewrites by the model where the rules see a need and the model's question keeps to the conversation."""

    def __init__(self, structured: Structured) -> None:
        self._structured = structured

    async def rewrite(self, question: str, past: Sequence[Exchange]) -> str:
        """The model's question, or that of the rules."""
        by_rules = standalone(question, past)
        if by_rules == question or len(question) > LONGEST:
            return by_rules
        try:
            found = (await self._structured.ask(SYSTEM, told(question, past), SCHEMA))["question"]
        except (CiteMeshError, KeyError, TypeError) as error:
            log.warning("the model rewrote nothing: %s", error)
            return by_rules
        return found.strip() if isinstance(found, str) and holds(found, question, past) else by_rules


def told(question: str, past: Sequence[Exchange]) -> str:
    """The conversation as the model reads it."""
    lines = [f"Q: {one.question}\nA: {one.answer[:LONGEST_ANSWER]}" for one in past[-TURNS:]]
    return "\n".join([*lines, f"Last question: {question}"])


def holds(found: str, question: str, past: Sequence[Exchange]) -> bool:
    """Whether a rewritten question keeps the question's words, adds some, and only from what was said."""
    words, asked = stems(content_words(found)), stems(content_words(question))
    said = stems(content_words(" ".join(f"{one.question} {one.answer}" for one in past)))
    return bool(found.strip()) and asked <= words and bool(words - asked) and words <= asked | said
