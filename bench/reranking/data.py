"""The evaluation data as texts with questions, claims and the places that support them."""

import csv
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citemesh.errors import PreconditionFailed

ROOT = Path(__file__).resolve().parents[2]
Span = tuple[int, int]
_ITEM = re.compile(r"'((?:[^'\n]|'(?![\n\]]))*)'(?=\n|\])|\"([^\"\n]*)\"(?=\n|\])")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a paragraph of `Paragraphs`, and where its answer stands in it."""

    paragraph: int
    question: str
    answer: str
    start: int


@dataclass(frozen=True, slots=True)
class Paragraphs:
    """XQuAD in one language."""

    texts: list[str]
    asked: list[Asked]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of SciFact about an abstract. label: SUPPORT, CONTRADICT, or empty where the abstract says neither."""

    text: str
    document: int
    label: str
    evidence: frozenset[int]


@dataclass(frozen=True, slots=True)
class SciFact:
    """Abstracts as their sentences, by id, and claims about them."""

    abstracts: dict[int, list[str]]
    claims: list[Claim]

    def text(self, document: int) -> str:
        """An abstract in one piece."""
        return " ".join(self.abstracts[document])

    def spans(self, claim: Claim) -> list[Span]:
        """Where the evidence sentences stand in the text."""
        spans, at = [], 0
        for number, sentence in enumerate(self.abstracts[claim.document]):
            if number in claim.evidence:
                spans.append((at, at + len(sentence)))
            at += len(sentence) + 1
        return spans


def folder() -> Path:
    """The evaluation data. Raises PreconditionFailed where it is not on this machine."""
    data = Path(os.environ.get("CITEMESH_EVAL_DATA") or ROOT.parent / "shared" / "data")
    if not (data / "xquad").is_dir():
        raise PreconditionFailed("NO_DATA", f"no evaluation data at {data}", "set CITEMESH_EVAL_DATA to its folder")
    return data


def xquad(language: str) -> Paragraphs:
    """XQuAD: paragraphs of Wikipedia and questions about them; en and zh hold the same ones."""
    texts: list[str] = []
    asked: list[Asked] = []
    articles = json.loads((folder() / "xquad" / f"xquad.{language}.json").read_text(encoding="utf-8"))["data"]
    for paragraph in (paragraph for article in articles for paragraph in article["paragraphs"]):
        for qa in paragraph["qas"]:
            [first, *_] = qa["answers"]
            asked.append(Asked(len(texts), qa["question"], first["text"], first["answer_start"]))
        texts.append(paragraph["context"])
    return Paragraphs(texts, asked)


def qed() -> list[dict[str, Any]]:
    """QED's examples that one sentence answers, as they are."""
    lines = (folder() / "qed" / "qed-dev.jsonlines").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [row for row in rows if row["annotation"]["explanation_type"] == "single_sentence"]


def scifact() -> SciFact:
    """SciFact: abstracts, and claims with the sentences that support or contradict them."""
    with (folder() / "scifact" / "corpus_train.csv").open(encoding="utf-8", newline="") as file:
        abstracts = {
            int(row["doc_id"]): [a or b for a, b in _ITEM.findall(row["abstract"])] for row in csv.DictReader(file)
        }
    return SciFact(abstracts, [claim for claim in _claims() if abstracts.get(claim.document)])


def _claims() -> Iterator[Claim]:
    found: dict[tuple[str, int, str], set[int]] = {}
    for part in ("train", "validation"):
        with (folder() / "scifact" / f"claims_{part}.csv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                cited = [row["evidence_doc_id"]] if row["evidence_doc_id"] else re.findall(r"\d+", row["cited_doc_ids"])
                for document in cited:
                    evidence = found.setdefault((row["claim"], int(document), row["evidence_label"]), set())
                    evidence.update(map(int, re.findall(r"\d+", row["evidence_sentences"])))
    return (Claim(*key, frozenset(evidence)) for key, evidence in sorted(found.items()))
