"""Takes a model's stream apart: clean text for the reader, and claims, which are sentences with their markers."""

from __future__ import annotations

from dataclasses import dataclass

from citemesh.text.sentences import Sentence, SentenceSplitter
from gateway.query.cite.citations import Claim
from gateway.query.generate.markers import Cleaned, Hint, MarkerFilter


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """What a piece of the stream came to: text without markers, and the claims that it completed."""

    text: str
    claims: tuple[Claim, ...]


class ClaimReader:
    """Reads one answer, in pieces of any size. A claim's spans count code points of the clean text."""

    def __init__(self) -> None:
        self._markers = MarkerFilter()
        self._splitter = SentenceSplitter()
        self._hints: list[Hint] = []

    def feed(self, text: str) -> AnswerPiece:
        """Reads on."""
        return self._part(self._markers.feed(text))

    def close(self) -> AnswerPiece:
        """Returns what was held back, at the end of the stream."""
        last = self._part(self._markers.close())
        return AnswerPiece(last.text, last.claims + self._claims(self._splitter.close()))

    def _part(self, cleaned: Cleaned) -> AnswerPiece:
        self._hints += cleaned.hints
        return AnswerPiece(cleaned.text, self._claims(self._splitter.feed(cleaned.text)))

    def _claims(self, sentences: list[Sentence]) -> tuple[Claim, ...]:
        return tuple(Claim(sentence, self._take_hints(sentence.span.end)) for sentence in sentences)

    def _take_hints(self, end: int) -> frozenset[int]:
        """Takes the markers that stand before `end`: they belong to the sentence that ends there."""
        numbers = frozenset(hint.number for hint in self._hints if hint.position <= end)
        self._hints = [hint for hint in self._hints if hint.position > end]
        return numbers
