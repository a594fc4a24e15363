"""Follow-ups made of MuSiQue's steps: the second one says "it" for what the first one found."""

import json
import re
from dataclasses import dataclass

from bench.reranking import data
from bench.retrieving.sets import SETS
from gateway.query.plan.plan import first_plan
from gateway.query.plan.rewriting import Rewriter
from gateway.query.plan.standalone import Exchange, hints


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A second question, what stood before it, what it means, and the document that answers it."""

    before: Exchange
    asked: str
    meant: str
    document: str


def follow_ups() -> list[FollowUp]:
    """Pairs of MuSiQue's first two steps whose second step needs the first one's answer."""
    items = json.loads((data.folder() / "multihop" / "musique_train.json").read_text(encoding="utf-8"))
    known = {document.text: document.id for document in SETS["multihop"]().documents}
    found = []
    for item in items:
        first, second = item["question_decomposition"][:2]
        document = known.get(item["paragraphs"][second["paragraph_support_idx"]]["paragraph_text"])
        if "#1" in second["question"] and document:
            answer = _sentence(item["paragraphs"][first["paragraph_support_idx"]]["paragraph_text"], first["answer"])
            later = _question(second["question"])
            before = Exchange(_question(first["question"]), answer)
            found.append(FollowUp(before, later.replace("#1", "it"), later.replace("#1", first["answer"]), document))
    return found


def _question(step: str) -> str:
    """A step as a question: MuSiQue writes some as "subject >> relation"."""
    subject, arrow, relation = step.partition(" >> ")
    text = f"What is the {relation} of {subject}" if arrow else step
    return text.strip().rstrip("?").strip() + "?"


def _sentence(text: str, answer: str) -> str:
    """The first sentence that has the answer, as an extractive answer would quote it."""
    sentences = re.split(r"(?<=[.!?])\s+", text)
    return next((one for one in sentences if answer.casefold() in one.casefold()), answer)


async def form(one: FollowUp, way: Rewriter) -> str:
    """What is searched for: the question made stand-alone, and names that it may mean."""
    whole = await way.rewrite(one.asked, [one.before])
    return first_plan(whole, hints(one.asked, whole, [one.before])).hops[0]
