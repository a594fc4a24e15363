"""Sentences whose right citation is known from labels, and the documents that are searched for them."""

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.reranking import claims, data
from bench.reranking.claims import Case
from bench.reranking.data import SciFact, Span
from bench.reranking.search import bm25
from bench.retrieving.sets import Document, JudgedSet

NEAR = 4
"""Documents that go in beside a sentence's own: those that share most words with it."""


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence as an answer could hold it.

    Attributes:
        kind: where it is from and how it was made.
        true: whether the labels say that it is supported; None where a passage contradicts it.
        own: the document that it was made from; it is always packed.
        documents: those that support it; citing any of them is right.
        places: where the own document says it, in code points.
    """

    kind: str
    text: str
    true: bool | None
    own: str
    documents: frozenset[str]
    places: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the answers that are right, and the document that its label calls the evidence."""

    question: str
    answers: tuple[str, ...]
    document: str


@dataclass(frozen=True, slots=True)
class Labelled:
    """A set: its documents, sentences about them, and questions for a model to answer."""

    name: str
    documents: list[Document]
    said: list[Said]
    asked: list[Asked]

    def judged(self) -> JudgedSet:
        """The form that the benches of retrieval ingest."""
        return JudgedSet(f"cite-{self.name}", "en", self.documents, [])


def qed(sentences: int, questions: int, chance: random.Random) -> Labelled:
    """Questions of the web about a paragraph of Wikipedia: answer, other answer, the selected sentence shortened."""
    rows = chance.sample(data.qed(), max(sentences, questions))
    said = [_said(case) for case in claims.from_qed(rows[:sentences], chance) if _kept(case)]
    pool = [row["paragraph_text"] for row in data.qed()]
    asked = [
        Asked(
            row["question_text"],
            tuple({answer["string"] for answers in row["original_nq_answers"] for answer in answers}),
            named(row["paragraph_text"]),
        )
        for row in rows[:questions]
    ]
    wanted = [row["question_text"] for row in rows[:questions]]
    own = [row["paragraph_text"] for row in rows]
    return Labelled("qed", _documents(pool, own, [one.text for one in said] + wanted), said, asked)


def xquad(language: str, sentences: int, questions: int, chance: random.Random) -> Labelled:
    """Questions about a paragraph of Wikipedia, in English or Chinese: answer and other answer."""
    source = data.xquad(language)
    made = claims.from_xquad(language, source, max(1, sentences // 2), chance)
    said = [_said(case) for case in made if _kept(case) and "shortened" not in case.kind]
    asked = [
        Asked(one.question, (one.answer,), named(source.texts[one.paragraph]))
        for one in chance.sample(source.asked, questions)
    ]
    return Labelled(f"xquad-{language}", [Document(named(text), "", text) for text in source.texts], said, asked)


def scifact(sentences: int, chance: random.Random) -> Labelled:
    """Claims with the abstracts that support or contradict them, or say neither."""
    source = data.scifact()
    said = [_said(case, _supporting(source, case.sentence)) for case in _of_scifact(source, sentences, chance)]
    pool = [source.text(number) for number in source.abstracts]
    own = {named(text): text for text in pool}
    wanted = [own[name] for one in said for name in {one.own, *one.documents}]
    return Labelled("scifact", _documents(pool, wanted, [one.text for one in said]), said, [])


def named(text: str) -> str:
    """A document's id, by its text: sets repeat paragraphs."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _of_scifact(source: SciFact, sentences: int, chance: random.Random) -> Iterator[Case]:
    return (case for case in claims.from_scifact(source, sentences, chance) if _kept(case))


def _supporting(source: SciFact, claim: str) -> set[str]:
    return {named(source.text(one.document)) for one in source.claims if one.text == claim and one.label == "SUPPORT"}


def _kept(case: Case) -> bool:
    """Cases about one given passage ("nearest") aren't about what is cited of several; one kind of false is enough."""
    return not case.kind.endswith(("nearest", "other number"))


def _said(case: Case, documents: Iterable[str] = ()) -> Said:
    own = named(case.passage)
    right = frozenset({own, *documents}) if case.supported else frozenset()
    return Said(case.kind, case.sentence, case.supported, own, right, case.places)


def _documents(pool: Sequence[str], own: Sequence[str], wanted: Sequence[str]) -> list[Document]:
    """The own texts, and for each wanted one those of the pool that share most words with it."""
    texts = list(dict.fromkeys(pool))
    scores = bm25(texts, list(wanted))
    near = {texts[at] for row in scores for at in row.argsort()[::-1][: NEAR + 1]}
    return [Document(named(text), "", text) for text in texts if text in near or text in set(own)]
