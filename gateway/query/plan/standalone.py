"""Makes a follow-up stand alone by rules: what it leaves out is taken from what was said before.

Three things are looked for: a question that only swaps one name ("What about the Louvre?"), one that is no more than a
question word ("Why?"), and a pronoun that nothing in the question itself explains ("When was it built?").
"""

import re
from calendar import month_name
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from citemesh.text.names import names
from citemesh.text.scripts import HAN, is_chinese
from citemesh.text.stop_words import ENGLISH_QUESTION_WORDS
from citemesh.text.words import content_words


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question that stands alone and its answer."""

    question: str
    answer: str


_ABOUT = re.compile(r"^(?:and|but|so|or|then)?[, ]*(?:what|how)\s+about\s+(?P<what>.+?)[?.! ]*$", re.I)
_AND = re.compile(r"^(?:and|but|so|or|then|also)\b[, ]+(?P<rest>.+)$", re.I)
_CHINESE_ABOUT = re.compile(r"^(?:那么?|还有|而)?(?P<what>.{1,30}?)呢[？?。 ]*$")
_PERSON = re.compile(r"\b(?:he|she|him|her|his|hers|himself|herself)\b", re.I)
_THING = re.compile(
    r"\b(?:it|its|itself|they|them|their|theirs|this|these|those|the latter|the former|"
    r"that(?= (?:one|place|country|city|company|person|book|film|time|year|team|band|group|work|school))|"
    r"there(?! (?:is|are|was|were|any|be)\b))\b",
    re.I,
)
_MONTHS = frozenset(month.lower() for month in month_name if month)
_OWNING = frozenset(("his", "its", "their", "theirs", "hers"))
_FOR_A_NAME = re.compile(r"\W*(?:who|whom|which|what)\b|.*谁", re.I)
_CHINESE = re.compile(rf"它们|他们|她们|它|他|她|该(?=[{HAN}])|其(?!他|它|实|中|余)|这个|那个|这里|那里|此人")
_LAST = re.compile(r"\b(?:of|in|on|at|from|with|by|about|to)\s+$", re.I)
_DOES = frozenset(("do", "does", "did"))
_SHORT = 2
MOST_HINTS = 2
LONGEST = 500
"""Characters of a question above which it is taken to stand alone: it has said what it is about."""
READ = 2000
"""Characters of an earlier answer that are read."""


def standalone(question: str, history: Sequence[Exchange]) -> str:
    """The question without need of what stood before it; the same text where it needs nothing."""
    if not history or len(question) > LONGEST:
        return question
    last = history[-1]
    if (swapped := _swapped(question)) is not None:
        return _with(last.question, swapped)
    if joined := _AND.match(question):
        question = joined["rest"][:1].upper() + joined["rest"][1:]
    if not content_words(question) and not names(question):
        return f"{last.question} {question}"
    return _resolved(question, history)


def _swapped(question: str) -> str | None:
    """What a question names instead of what the last one named; None where it is a question of its own."""
    if match := _ABOUT.match(question) or _CHINESE_ABOUT.match(question):
        return match["what"].strip()
    match = _AND.match(question)
    if match and len(match["rest"].split()) <= 6 and not _asks(match["rest"]):
        return match["rest"].rstrip("?.! ")
    return None


def _asks(text: str) -> bool:
    """Whether a text begins as a question does."""
    first = text.split()[0].lower().strip(",")
    verbs = "is are was were do does did can could will would has have had should may in at on from to for with by"
    return first in ENGLISH_QUESTION_WORDS or first in verbs.split()


def _with(question: str, name: str) -> str:
    """The question about another name: in the place of its own one where it has just one, else behind it."""
    bare = re.sub(r"^(?:the|a|an)\s+", "", name, flags=re.I)
    question_names = names(question)
    swapped = (
        question_names
        if len(question_names) == 1 and names(f"x {name}")
        else [other_name for other_name in question_names if _alike(other_name, bare)]
    )
    if swapped:
        return question.replace(swapped[0], bare, 1)
    joint = "，" if is_chinese(question) else ", "
    return f"{question.rstrip('?？.。! ')}{joint}{name}{'？' if is_chinese(question) else '?'}"


def _alike(first: str, other: str) -> bool:
    """Whether two names end alike, as those of two things of one kind do."""
    if is_chinese(other):
        return first[-2:] == other[-2:]
    return first.split()[-1].casefold() == other.split()[-1].casefold()


def _resolved(question: str, history: Sequence[Exchange]) -> str:
    pattern = _CHINESE if is_chinese(question) else _PERSON if _PERSON.search(question) else _THING
    match = pattern.search(question)
    if match is None or _explained(question[: match.start()], question[match.end() :]):
        return question
    name = antecedent(history, person=pattern is _PERSON)
    if not name or name.casefold() in question.casefold():
        return question
    owned = match.group().lower() in _OWNING or (match.group().lower() == "her" and _owns(question[match.end() :]))
    put = f"{name}'s" if owned else f"{name}的" if match.group() == "其" else name
    return question[: match.start()] + put + question[match.end() :]


def _explained(before: str, after: str) -> bool:
    """Whether a pronoun has something before it in its own sentence that it can mean; a last "of it" hardly has."""
    if _LAST.search(before) and not content_words(after):
        return False
    return bool(names(f"x {before}")) or len(content_words(before)) > _SHORT


def _owns(after: str) -> bool:
    return bool(re.match(r"\s+\w", after))


def antecedent(history: Sequence[Exchange], person: bool) -> str:
    """What a pronoun means: what the last question asked for, else what it was about; empty where nothing is found."""
    for exchange in reversed(history):
        question_names = names(exchange.question[:READ])
        answered = [name for name in names(f"x {exchange.answer[:READ]}") if not _within(name, exchange.question)]
        answer_name = (person or _FOR_A_NAME.match(exchange.question)) and _short(exchange.answer)
        order = [*answered, *question_names] if answer_name else [*question_names, *answered]
        if fitting := [name for name in order if not _is_date(name)]:
            return fitting[0]
    return _subject(history[-1].question[:READ])


def hints(question: str, standing_alone: str, history: Sequence[Exchange]) -> tuple[str, ...]:
    """Names of the last answer that a completed question may mean as well: a search should look for them too.

    Args:
        question: as it was asked.
        standing_alone: as it was completed.
    """
    if not history or standing_alone == question or _swapped(question) is not None:
        return ()
    answer_names = names(f"x {history[-1].answer[:READ]}")
    new = [
        candidate
        for candidate in answer_names
        if not _is_date(candidate) and not _within(candidate, f"{history[-1].question}\n{standing_alone}")
    ]
    return tuple(new[:MOST_HINTS])


def _is_date(name: str) -> bool:
    return name[0].isdigit() or name.split()[0].lower() in _MONTHS


def _short(answer: str) -> bool:
    """Whether an answer is so short that the names in it are what was asked for."""
    return len(answer) <= 300


def _within(name: str, text: str) -> bool:
    return name.casefold() in text.casefold()


def _subject(question: str) -> str:
    """Of a question without names, its longest run of telling words, without the verb that "does" leaves at its end."""
    question_words = set(content_words(question))
    words = re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", question)
    if _DOES & {word.lower() for word in words} and len(words) > 1 and words[-2].lower() in question_words:
        words.pop()
    runs: list[list[str]] = [[]]
    for before, word in pairwise(["", *words]):
        if word.lower() not in question_words:
            runs.append([])
        elif not runs[-1] and before.lower() == "the":
            runs[-1] += [before, word]
        else:
            runs[-1].append(word)
    phrases = [" ".join(run) for run in runs]
    return max(phrases, key=lambda phrase: (phrase.removeprefix("the ").count(" "), phrase[:4] == "the ", len(phrase)))
