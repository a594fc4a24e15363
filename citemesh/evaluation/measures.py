"""How good one answer is. A measure that can't be taken of a question, such as of one without evidence, is absent."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from citemesh.client.types import Source
from citemesh.evaluation.outcome import Outcome
from citemesh.evaluation.questions import Asked, Evidence
from citemesh.text.scripts import CJK

QUALITY = (
    "evidence_recall",
    "citation_precision",
    "citation_recall",
    "supported",
    "answer_match",
    "answer_f1",
    "answered",
)
COST = ("first_text_s", "total_s", "prompt_tokens", "completion_tokens", "searches")
ABOUT = {
    "evidence_recall": "share of the evidence that is among the sources of the answer",
    "citation_precision": "share of the cited documents that are evidence",
    "citation_recall": "share of the evidence that is cited",
    "supported": "share of the sentences that a source was found to support",
    "answer_match": "1 where a right answer stands in the text, else 0",
    "answer_f1": "words shared with the nearest right answer, balanced over both lengths",
    "answered": "1 where an answer came, 0 where an error did",
    "first_text_s": "seconds to the first text",
    "total_s": "seconds to the end",
    "prompt_tokens": "tokens that the model read",
    "completion_tokens": "tokens that the model wrote",
    "searches": "searches that were made",
}
_WORD = re.compile(rf"[{CJK}]|[^\W_]+")
_ARTICLES = {"a", "an", "the"}


def measures(question: Asked, outcome: Outcome) -> dict[str, float]:
    """All that can be said of an answer, by name."""
    if outcome.error or outcome.done is None:
        return {"answered": 0.0} | dict.fromkeys(_possible(question), 0.0)
    figures = _cited(question, outcome) | _worded(question.answers, outcome.text)
    if outcome.sentences:
        figures["supported"] = _share(sentence.supported for sentence in outcome.sentences)
    usage = outcome.done.usage
    costs = (outcome.first_text_s, outcome.total_s, usage.prompt_tokens, usage.completion_tokens, outcome.done.searches)
    return {"answered": 1.0} | figures | dict(zip(COST, map(float, costs), strict=True))


def _possible(question: Asked) -> list[str]:
    """What a question without an answer has none of, but could have had."""
    evidence = ["evidence_recall", "citation_recall"] if question.evidence else []
    return evidence + (["answer_match", "answer_f1"] if question.answers else [])


def _cited(question: Asked, outcome: Outcome) -> dict[str, float]:
    if not question.evidence:
        return {}
    numbers = {citation.number for sentence in outcome.sentences for citation in sentence.citations}
    cited = [source for source in outcome.sources if source.number in numbers]
    figures = {
        "evidence_recall": _share(
            any(holds(evidence, cited_source) for cited_source in outcome.sources) for evidence in question.evidence
        ),
        "citation_recall": _share(
            any(holds(evidence, cited_source) for cited_source in cited) for evidence in question.evidence
        ),
    }
    if numbers:
        right = {source.number for source in cited if any(holds(evidence, source) for evidence in question.evidence)}
        figures["citation_precision"] = len(right) / len(numbers)
    return figures


def holds(evidence: Evidence, source: Source) -> bool:
    """Whether a source is the evidence: the named document, and the quoted words where there are any."""
    if evidence.document_id and evidence.document_id != source.document_id:
        return False
    if evidence.title and _folded(evidence.title) != _folded(source.title):
        return False
    return not evidence.quote or " ".join(words(evidence.quote)) in " ".join(words(source.text))


def _worded(answers: Sequence[str], text: str) -> dict[str, float]:
    if not answers:
        return {}
    answer_words = words(text)
    line = f" {' '.join(answer_words)} "
    match = any(f" {' '.join(words(answer))} " in line for answer in answers)
    return {"answer_match": float(match), "answer_f1": max(f1(words(answer), answer_words) for answer in answers)}


def words(text: str) -> list[str]:
    """Words in lower case without articles and marks; each character of Chinese, Japanese and Korean is one."""
    return [word for word in _WORD.findall(_folded(text)) if word not in _ARTICLES]


def f1(first: Sequence[str], other: Sequence[str]) -> float:
    """Harmonic mean of the shares of words that each has of the other, 0 to 1."""
    common = sum((Counter(first) & Counter(other)).values())
    return 2 * common / (len(first) + len(other)) if common else 0.0


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _share(values: Iterable[bool]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)
