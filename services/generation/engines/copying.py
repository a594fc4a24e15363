"""Answers of the fake engine: sentences copied from the sources in its prompt, each with its source's number."""

import re
from dataclasses import dataclass

from citemesh.models.tokens import byte_vocabulary as vocabulary
from citemesh.text.scripts import HAN
from citemesh.text.sentences import split_sentences

TURN = re.compile(r"<\|turn\|>(\w+)\n(.*?)(?=<\|end\|>|<\|turn\|>|\Z)", re.DOTALL)
SOURCE = re.compile(r"^\[(\d+)\] ?(.*?)(?=^\[\d+\]|\Z)", re.DOTALL | re.MULTILINE)
WORD = re.compile(f"[a-z0-9]+|[{HAN}]")

SHORTEST = 12
"""Characters below which a stretch is a heading rather than a sentence."""
MOST = 2


@dataclass(frozen=True, slots=True)
class CopiedSentence:
    """A sentence of a source and how many of the question's words it shares."""

    number: int
    sentence: str
    shared: int


def answer(prompt: str) -> str:
    """Returns an answer to a prompt of the byte vocabulary's turns; without sources it says that it has none."""
    turns = TURN.findall(prompt) or [("user", prompt)]
    question = next((text for role, text in reversed(turns) if role == "user"), "")
    sources = [source for _, text in turns for source in SOURCE.findall(text)]
    quotes = [quote for quote in (best_quote(source, question) for source in sources) if quote]
    quotes.sort(key=lambda quote: (-quote.shared, quote.number))
    best_quotes = sorted(quotes[:MOST], key=lambda quote: quote.number)
    if not best_quotes:
        return f"The fake engine was given no sources. It was asked: {question.strip()[:200]}"
    return " ".join(cited(quote) for quote in best_quotes)


def best_quote(source: tuple[str, str], question: str) -> CopiedSentence | None:
    """Returns the sentence of a (number, text) source that shares most words with the question; the first of equals."""
    number, text = source
    asked_words = set(WORD.findall(question.lower()))
    sentences = [sentence.text.strip() for sentence in split_sentences(text, line_ends=True)]
    quotes = [
        CopiedSentence(int(number), s, len(asked_words & set(WORD.findall(s.lower()))))
        for s in sentences
        if len(s) >= SHORTEST
    ]
    return max(quotes, key=lambda quote: quote.shared, default=None)


def cited(quote: CopiedSentence) -> str:
    """Returns a quote with its source's number before the mark that ends it."""
    end = quote.sentence[-1] if quote.sentence[-1] in ".!?。！？" else ""
    body = quote.sentence[: len(quote.sentence) - len(end)]
    return f"{body} [{quote.number}]{end or '.'}"


def prompt_text(prompt: tuple[int, ...] | str) -> str:
    """Returns a prompt as text, its control tokens spelt out."""
    return prompt if isinstance(prompt, str) else vocabulary.decode(prompt, skip_special_tokens=False)
