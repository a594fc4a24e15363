"""Public sets with judged queries: what is searched, what is asked, and which documents answer it.

Every set's queries are in two halves, drawn by a hash of their text: defaults were chosen on "tune" and are reported on
"held out" beside the whole.
"""

import csv
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from bench.reranking import data


@dataclass(frozen=True, slots=True)
class Document:
    """A document to ingest; the title is empty where the set has none."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A query and the ids of the documents that answer it; every one is worth the same."""

    text: str
    relevant: frozenset[str]

    @property
    def held_out(self) -> bool:
        """Whether no default was chosen by it."""
        return hashlib.sha256(self.text.encode()).digest()[0] % 2 == 1


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """A corpus and its queries."""

    name: str
    language: str
    documents: list[Document]
    queries: list[Asked]


def scifact() -> JudgedSet:
    """5,183 abstracts and the 300 claims of the development part, each with the abstracts that it cites.

    These are the queries and judgements that BEIR took as SciFact's test set.
    """
    with (data.folder() / "scifact" / "corpus_train.csv").open(encoding="utf-8", newline="") as file:
        titles = {int(row["doc_id"]): row["title"] for row in csv.DictReader(file)}
    abstracts = data.scifact()
    documents = [Document(str(id), titles[id], abstracts.text(id)) for id in sorted(abstracts.abstracts)]
    return JudgedSet("scifact", "en", documents, scifact_claims("validation", {it.id for it in documents}))


def scifact_claims(part: str, known: set[str]) -> list[Asked]:
    """The claims of one part ("train" or "validation") with the abstracts that they cite."""
    with (data.folder() / "scifact" / f"claims_{part}.csv").open(encoding="utf-8", newline="") as file:
        cited: dict[str, set[str]] = {}
        for row in csv.DictReader(file):
            cited.setdefault(row["claim"], set()).update(re.findall(r"\d+", row["cited_doc_ids"]))
    return [Asked(claim, frozenset(ids & known)) for claim, ids in cited.items() if ids & known]


def multihop() -> JudgedSet:
    """The paragraphs of 100 questions each of HotpotQA and MuSiQue; every paragraph on the way to the answer counts."""
    folder = data.folder() / "multihop"
    hotpot = json.loads((folder / "hotpotqa_train_corpus.json").read_text(encoding="utf-8"))
    musique = json.loads((folder / "musique_train_corpus.json").read_text(encoding="utf-8"))
    documents = [Document(f"hotpot-{title}", title, "".join(sentences)) for title, sentences in hotpot.items()]
    documents += [Document(_musique_id(it["title"], it["text"]), it["title"], it["text"]) for it in musique]
    queries = [
        Asked(it["question"], frozenset(f"hotpot-{title}" for title, _ in it["supporting_facts"]))
        for it in json.loads((folder / "hotpotqa_train.json").read_text(encoding="utf-8"))
    ]
    queries += [
        Asked(it["question"], frozenset(_musique_id(p["title"], p["paragraph_text"]) for p in _supporting(it)))
        for it in json.loads((folder / "musique_train.json").read_text(encoding="utf-8"))
    ]
    return JudgedSet("multihop", "en", documents, queries)


def xquad(language: str) -> JudgedSet:
    """XQuAD: 240 paragraphs of Wikipedia and about 1,185 different questions, each answered by one of them."""
    source = data.xquad(language)
    documents = [Document(f"p{number}", "", text) for number, text in enumerate(source.texts)]
    answered: dict[str, set[str]] = {}
    for asked in source.asked:
        answered.setdefault(asked.question, set()).add(f"p{asked.paragraph}")
    queries = [Asked(question, frozenset(ids)) for question, ids in answered.items()]
    return JudgedSet(f"xquad-{language}", language, documents, queries)


SETS: dict[str, Callable[[], JudgedSet]] = {
    "scifact": scifact,
    "multihop": multihop,
    "xquad-en": lambda: xquad("en"),
    "xquad-zh": lambda: xquad("zh"),
    "xquad-ar": lambda: xquad("ar"),
}


def _musique_id(title: str, text: str) -> str:
    return "musique-" + hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()[:16]


def _supporting(question: dict[str, list[dict[str, str]]]) -> list[dict[str, str]]:
    return [paragraph for paragraph in question["paragraphs"] if paragraph["is_supporting"]]
