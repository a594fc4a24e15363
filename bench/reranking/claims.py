"""Sentences as an answer could hold them, with a passage, and whether and where it supports them."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.reranking.data import Asked, Paragraphs, SciFact, Span
from citemesh.text.sentences import sentence_spans
from citemesh.text.word_sets import word_sets

_QUESTION_WORDS = "who what when where which why how did does do is are was were"
_ASKING = frozenset(_QUESTION_WORDS.split())
_ASKING_ZH = re.compile(r"什么|哪(个|些|里|位|种)?|谁|多少|几|何时|如何|为什么|[？?]")


@dataclass(frozen=True, slots=True)
class Case:
    """One sentence and one passage.

    kind: where it is from and how it was made. supported: what a good judge says; None where opinions differ (the
    passage contradicts the sentence: it is about the same thing, and words and vectors hardly show that it says no).
    places: where the passage says it; any of them is right.
    """

    kind: str
    sentence: str
    passage: str
    supported: bool | None
    places: tuple[Span, ...] = ()


def other_of_its_kind(answer: str, answers: Sequence[str], passage: str, chance: random.Random) -> str:
    """Another question's answer, a number for a number, that the passage doesn't hold; empty where there is none."""
    numeric = bool(re.search(r"\d", answer))
    fitting = [a for a in answers if bool(re.search(r"\d", a)) == numeric and a.lower() not in passage.lower()]
    return chance.choice(fitting) if fitting else ""


def nearest(sentence: str, passages: Sequence[str], own: str) -> str:
    """The other passage that shares most words with the sentence: the hardest one to tell apart by words."""
    wanted = set(word_sets(sentence).compared)
    return max((p for p in passages if p != own), key=lambda p: len(wanted.intersection(word_sets(p).compared)))


def from_qed(rows: Sequence[dict[str, Any]], chance: random.Random) -> Iterator[Case]:
    """Question and answer as a statement, a sentence with words left out; another answer, number or paragraph."""
    passages = [row["paragraph_text"] for row in rows]
    answers = [row["original_nq_answers"][0][0]["string"] for row in rows]
    for row, passage, answer in zip(rows, passages, answers, strict=True):
        selected = row["annotation"]["selected_sentence"]
        places = ((selected["start"], selected["end"]),)
        yield from _answers("qed", _statement(row["question_text"]), answer, answers, passage, passages, places, chance)
        words = selected["string"].split()
        yield Case("qed shortened", " ".join(w for w in words if chance.random() < 0.7), passage, True, places)
        changed = _other_number(selected["string"], passage, chance)
        if changed:
            yield Case("qed other number", changed, passage, False)


def from_xquad(language: str, source: Paragraphs, paragraphs: int, chance: random.Random) -> Iterator[Case]:
    """As from_qed, two questions a paragraph; a shortened sentence keeps its first part."""
    kept = set(chance.sample(range(len(source.texts)), paragraphs))
    asked = [one for one in source.asked if one.paragraph in kept]
    asked = chance.sample(asked, min(len(asked), 2 * paragraphs))
    answers, passages = [one.answer for one in asked], [source.texts[number] for number in sorted(kept)]
    for one in asked:
        passage = source.texts[one.paragraph]
        place = _sentence_at(passage, one)
        said = _statement_zh(one.question) if language == "zh" else _statement(one.question)
        yield from _answers(f"xquad {language}", said, one.answer, answers, passage, passages, (place,), chance)
        sentence = passage[slice(*place)]
        yield Case(f"xquad {language} shortened", sentence[: max(8, len(sentence) * 3 // 5)], passage, True, (place,))


def from_scifact(source: SciFact, claims: int, chance: random.Random) -> Iterator[Case]:
    """Claims with abstracts that support, contradict, or say neither; and the nearest abstract of another claim."""
    by_label = {label: [c for c in source.claims if c.label == label] for label in ("SUPPORT", "CONTRADICT", "")}
    supported = chance.sample(by_label["SUPPORT"], claims)
    passages = [source.text(claim.document) for claim in supported]
    for claim in supported:
        text = source.text(claim.document)
        yield Case("scifact", claim.text, text, True, tuple(source.spans(claim)))
        yield Case("scifact nearest", claim.text, nearest(claim.text, passages, text), False)
    for label, kind, said in (("CONTRADICT", "contradicts", None), ("", "says neither", False)):
        for claim in chance.sample(by_label[label], claims // 2):
            yield Case(f"scifact {kind}", claim.text, source.text(claim.document), said)


def _answers(
    kind: str,
    said: str,
    answer: str,
    answers: Sequence[str],
    passage: str,
    passages: Sequence[str],
    places: tuple[Span, ...],
    chance: random.Random,
) -> Iterator[Case]:
    yield Case(f"{kind} answer", said + answer, passage, True, places)
    other = other_of_its_kind(answer, answers, passage, chance)
    if other:
        yield Case(f"{kind} other answer", said + other, passage, False)
    yield Case(f"{kind} nearest", said + answer, nearest(said + answer, passages, passage), False)


def _statement(question: str) -> str:
    words = [word for word in question.rstrip("? ").split() if word.lower() not in _ASKING]
    text = " ".join(words)
    return text[:1].upper() + text[1:] + " "


def _statement_zh(question: str) -> str:
    return _ASKING_ZH.sub("", question)


def _other_number(sentence: str, passage: str, chance: random.Random) -> str:
    found = list(re.finditer(r"\d+", sentence))
    if not found:
        return ""
    match = chance.choice(found)
    other = str(int(match.group()) + chance.choice((-1, 1, 2, 3, 7, 10)))
    return "" if other in passage else sentence[: match.start()] + other + sentence[match.end() :]


def _sentence_at(passage: str, asked: Asked) -> Span:
    return next(span for span in sentence_spans(passage) if span[0] <= asked.start < span[1])
