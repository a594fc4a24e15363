"""What both sides of the comparison with the peer are given: documents, and questions with what answers them."""

import math
from collections.abc import Sequence

from bench.retrieving.sets import Asked, Document, JudgedSet, scifact, xquad

SCIFACT_DOCUMENTS = 1500
SCIFACT_QUERIES = 300


def chosen(quick: bool) -> list[JudgedSet]:
    """The sets of a run: XQuAD's English paragraphs, and a part of SciFact's abstracts."""
    return [xquad("en")] if quick else [xquad("en"), part_of(scifact())]


def part_of(whole: JudgedSet) -> JudgedSet:
    """A set cut down to the documents that its questions want and some more."""
    queries = whole.queries[:SCIFACT_QUERIES]
    wanted = {id for asked in queries for id in asked.relevant}
    others = [one for one in whole.documents if one.id not in wanted]
    documents = [one for one in whole.documents if one.id in wanted] + others[: SCIFACT_DOCUMENTS - len(wanted)]
    return JudgedSet(f"{whole.name} (part)", whole.language, documents, queries)


def text_of(document: Document) -> str:
    """A document as one text, its title above."""
    return f"{document.title}\n\n{document.text}" if document.title else document.text


def ndcg_at_10(ranking: Sequence[str], asked: Asked) -> float:
    """nDCG@10 of document ids, best first, where every relevant one is worth the same."""
    gain = sum(1 / math.log2(rank + 2) for rank, id in enumerate(ranking[:10]) if id in asked.relevant)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(asked.relevant))))
    return gain / ideal
