"""How good one answer is. A measure that doesn't apply, such as recall for a question without evidence, is absent."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from citemesh.client.types import Source
from citemesh.evaluation.outcome import Outcome
from citemesh.evaluation.questions import EvaluationQuestion, Evidence
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


def measures(question: EvaluationQuestion, outcome: Outcome) -> dict[str, float]:
    """Returns the value of each measure that applies to the answer, by name."""
    if outcome.error or outcome.done is None:
        return {"answered": 0.0} | dict.fromkeys(_measures_without_answer(question), 0.0)
    values = _citation_measures(question, outcome) | _text_measures(question.answers, outcome.text)
    if outcome.sentences:
        values["supported"] = _share(sentence.supported for sentence in outcome.sentences)
    usage = outcome.done.usage
    costs = (outcome.first_text_s, outcome.total_s, usage.prompt_tokens, usage.completion_tokens, outcome.done.searches)
    return {"answered": 1.0} | values | dict(zip(COST, map(float, costs), strict=True))


def _measures_without_answer(question: EvaluationQuestion) -> list[str]:
    """Returns the measures that an answer would have had; without one they count as 0."""
    evidence = ["evidence_recall", "citation_recall"] if question.evidence else []
    return evidence + (["answer_match", "answer_f1"] if question.answers else [])


def _citation_measures(question: EvaluationQuestion, outcome: Outcome) -> dict[str, float]:
    if not question.evidence:
        return {}
    numbers = {citation.number for sentence in outcome.sentences for citation in sentence.citations}
    cited = [source for source in outcome.sources if source.number in numbers]
    values = {
        "evidence_recall": _share(_holds_any(outcome.sources, evidence) for evidence in question.evidence),
        "citation_recall": _share(_holds_any(cited, evidence) for evidence in question.evidence),
    }
    if numbers:
        right = {source.number for source in cited if is_evidence(source, question.evidence)}
        values["citation_precision"] = len(right) / len(numbers)
    return values


def holds(evidence: Evidence, source: Source) -> bool:
    """Returns whether a source is the evidence: the named document, and the quoted words where there are any."""
    if evidence.document_id and evidence.document_id != source.document_id:
        return False
    if evidence.title and _normalized(evidence.title) != _normalized(source.title):
        return False
    return not evidence.quote or " ".join(words(evidence.quote)) in " ".join(words(source.text))


def is_evidence(source: Source, evidence: Iterable[Evidence]) -> bool:
    """Returns whether a source is any piece of the evidence."""
    return any(holds(piece, source) for piece in evidence)


def _holds_any(sources: Iterable[Source], evidence: Evidence) -> bool:
    return any(holds(evidence, source) for source in sources)


def _text_measures(answers: Sequence[str], text: str) -> dict[str, float]:
    if not answers:
        return {}
    text_words = words(text)
    line = f" {' '.join(text_words)} "
    match = any(f" {' '.join(words(answer))} " in line for answer in answers)
    return {"answer_match": float(match), "answer_f1": max(f1(words(answer), text_words) for answer in answers)}


def words(text: str) -> list[str]:
    """Returns the words in lower case, without articles and marks; each CJK character is a word."""
    return [word for word in _WORD.findall(_normalized(text)) if word not in _ARTICLES]


def f1(first: Sequence[str], second: Sequence[str]) -> float:
    """Returns the harmonic mean of the shares of words that each has of the other, 0 to 1."""
    common = sum((Counter(first) & Counter(second)).values())
    return 2 * common / (len(first) + len(second)) if common else 0.0


def _normalized(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _share(values: Iterable[bool]) -> float:
    flags = list(values)
    return sum(flags) / len(flags)
