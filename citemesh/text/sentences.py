"""Sentences of a text, whole or still being written.

Sentences tile their text: every character is in exactly one, white space goes with the sentence before it. Where a
sentence ends is decided when the first character of the next one is there, so the cuts do not depend on how the text
was cut into deltas. Time is linear in the text's length.
"""

import re
from dataclasses import dataclass

from citemesh.text.scripts import written_without_spaces
from citemesh.text.span import Span

LONGEST_SENTENCE = 800
"""Characters after which a text without any sentence end is cut at a word or a comma."""
LONGEST_SPAN = 600
"""As LONGEST_SENTENCE, of the sentences that texts are compared by."""

_CLOSERS = "\"'”’»)）\\]}」』】》〉*_"
_WIDE = "。！？｡；"
"""Marks that end a sentence whatever follows."""
_MARKS = rf".!?…؟۔।{_WIDE[:-1]}"
_LINE_END = r"\n"
_PROSE_END = r"\n(?=[ \t]*(?:\n|[-*+•#|>]|```|\d{1,3}[.)]\s))"
"""A blank line, or the start of a list item, heading, table row or code fence."""
_AHEAD = 16
"""Characters after a line end that say whether it ends a sentence, at most; a few more than it takes."""
_LONGEST_ABBREVIATION = 32
_WORD = re.compile(r"[^\s(\[\"'“‘]+$")
_INITIALS = re.compile(r"^(?:[A-Za-z]\.)*[A-Za-z]$")
_SOFT = re.compile(r"[\s,;，、；：]")
_TITLES = (
    "mr mrs ms dr prof st gen col sgt capt lt rev hon gov sen rep jr sr vs cf e.g i.e approx dept al resp incl viz ca"
)
_NUMBERED = (
    "no nos p pp fig figs sec sect ch chap eq eqs vol vols art ver v est "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
_ABBREVIATIONS = frozenset(_TITLES.split())
_ABBREVIATIONS_OF_NUMBERS = frozenset(_NUMBERED.split())
"""Abbreviations only where a digit follows."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and where it stands in the text."""

    span: Span
    text: str


class SentenceSplitter:
    """Cuts a growing text into sentences.

    Args:
        line_ends: whether every line end ends a sentence (a model's answer); otherwise only a blank line or the
            start of a list item, heading or table row does (whole documents with wrapped lines).
        longest: characters after which a text without sentence ends is cut anyway.
        semicolons: whether a full-width semicolon ends a sentence.
    """

    def __init__(self, line_ends: bool = True, longest: int = LONGEST_SENTENCE, semicolons: bool = False) -> None:
        marks = f"{_MARKS}；" if semicolons else _MARKS
        self._pattern = re.compile(rf"[{marks}]+[{_CLOSERS}]*|{_LINE_END if line_ends else _PROSE_END}")
        self._longest = longest
        self._text = ""
        self._offset = 0  # of self._text in the whole text
        self._scanned = 0  # how far self._text was searched for marks

    def feed(self, text: str) -> list[Sentence]:
        """Takes the next part and returns the sentences that it completed."""
        self._text += text
        sentences, start = [], 0
        while (end := self._end(start)) is not None:
            sentences.append(self._sentence(start, end))
            start = self._scanned = end
        self._forget(start)
        return sentences

    def close(self) -> list[Sentence]:
        """Returns what is left when the text is over."""
        length = len(self._text)
        rest = [self._sentence(0, length)] if length else []
        self._forget(length)
        return rest

    def _sentence(self, start: int, end: int) -> Sentence:
        return Sentence(Span(self._offset + start, self._offset + end), self._text[start:end])

    def _forget(self, end: int) -> None:
        self._text = self._text[end:]
        self._offset += end
        self._scanned -= end

    def _end(self, start: int) -> int | None:
        end = self._natural_end(start)
        if end is not None and end <= start + self._longest:
            return end
        return self._forced_end(start) if len(self._text) > start + self._longest else None

    def _natural_end(self, start: int) -> int | None:
        """Returns the first sure end, or None; remembers how far the text was searched.

        Looks a little farther than the longest sentence: what ends later is cut all the same.
        """
        far = min(len(self._text), start + self._longest + _AHEAD)
        for mark in self._pattern.finditer(self._text, self._scanned, far):
            after = _skip_space(self._text, mark.end(), far)
            if after == len(self._text):  # the mark may go on
                self._scanned = mark.start()
                return None
            if not self._text[start : mark.start()].strip():
                continue
            if _ends_sentence(self._text, start, mark, after):
                return after
        self._scanned = far
        return None

    def _forced_end(self, start: int) -> int:
        longest = start + self._longest
        cuts = [match.end() for match in _SOFT.finditer(self._text, start + self._longest // 2, longest)]
        return cuts[-1] if cuts else longest


def split_sentences(text: str, line_ends: bool = False) -> list[Sentence]:
    """Cuts a whole text; by default a document's, where lines are wrapped."""
    splitter = SentenceSplitter(line_ends)
    return [*splitter.feed(text), *splitter.close()]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Returns (start, end) of the sentences that a text is compared by, in order, without outer white space.

    Lines and full-width semicolons end them, none is empty, and none has over LONGEST_SPAN characters: the support
    scores of the reranker are calibrated with these.
    """
    splitter = SentenceSplitter(longest=LONGEST_SPAN, semicolons=True)
    sentences = [*splitter.feed(text), *splitter.close()]
    return [_trimmed(sentence) for sentence in sentences if not sentence.text.isspace()]


def _trimmed(sentence: Sentence) -> tuple[int, int]:
    start = sentence.span.end - len(sentence.text.lstrip())
    return start, sentence.span.start + len(sentence.text.rstrip())


def _skip_space(text: str, at: int, far: int) -> int:
    while at < far and text[at].isspace():
        at += 1
    return at


def _ends_sentence(text: str, start: int, mark: re.Match[str], after: int) -> bool:
    """Says whether punctuation ends the sentence that begins at start; after is where the next character stands."""
    punctuation, following = mark.group(), text[after]
    if punctuation == "\n" or any(char in _WIDE for char in punctuation):
        return True
    if after == mark.end():
        return punctuation[0] in "!?…" and written_without_spaces(following)
    if text.count("\n", mark.end(), after) > 1:
        return True
    return not following.islower() and not (punctuation == "." and _abbreviates(text, start, mark.start(), following))


def _abbreviates(text: str, start: int, stop: int, following: str) -> bool:
    """Says whether a full stop belongs to an abbreviation, an initial or the number of a list's item."""
    match = _WORD.search(text, max(start, stop - _LONGEST_ABBREVIATION), stop)
    if match is None:
        return False
    word = match.group()
    if (word.isdigit() or len(word) == 1) and not text[start : match.start()].strip():
        return True
    lower = word.lower()
    if lower in _ABBREVIATIONS or (word[:1].isupper() and _INITIALS.match(word) is not None):
        return True
    return lower in _ABBREVIATIONS_OF_NUMBERS and following.isdigit()
