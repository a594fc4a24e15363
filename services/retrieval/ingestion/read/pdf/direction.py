"""Lines of a PDF page that hold right-to-left letters, in the order in which they are read.

A PDF says where each glyph stands and not how its words are read. pdfium guesses, and turns words that were right
already (where the file gives the text beside the glyphs), leaves others as they stand, and puts brackets and Latin
words out of order. So such lines are read anew from where their characters stand: first what is seen from left to
right, and then what Unicode's rules of direction (UAX #9) would have made look like that.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff"
_LETTER = re.compile(f"[{_RIGHT_TO_LEFT}]")
_ARABIC = re.compile("[\u0600-\u08ff\ufb50-\ufdff\ufe70-\ufefc]")
_SHAPED = re.compile("[\ufb1d-\ufdff\ufe70-\ufefc]+")
_FOREIGN = re.compile("N*L(?:O*[LN])*|N+")  # what goes left to right within a line that goes right to left
_OWN = re.compile("R(?:[ON]*R)*")  # and the other way round
_NUMBERS = re.compile("N+")
_BETWEEN_DIGITS = {True: ".,:/\u060c\u066b\u066c", False: ".,:/-+"}
_AT_NUMBERS = "%$#\u00b0\u20aa\u20ac\u00a3"
_BRACKETS = {"(": ")", "[": "]", "{": "}", "«": "»"}
_OPENING = {**{closing: opening for opening, closing in _BRACKETS.items()}, **{it: it for it in _BRACKETS}}
_PRESENTED = {unicodedata.normalize("NFKC", chr(code)) for code in (*range(0xFB1D, 0xFE00), *range(0xFE70, 0xFEFD))}
_LIGATURES = {it for it in _PRESENTED if len(it) > 1 and it[::-1] not in _PRESENTED}
_WORD_GAP = 0.2
_SAME_PLACE = 0.01
_SAME_HEIGHT = 0.35
_NEAR = 0.5
_LONGEST_LINE = 1024


@dataclass(frozen=True, slots=True)
class Glyph:
    """A character, where it stands along its line and across it, and where it was drawn from, in points."""

    text: str
    left: float
    right: float
    low: float
    high: float
    drawn_at: float
    base: float

    @property
    def centre(self) -> float:
        """Its middle along the line."""
        return (self.left + self.right) / 2


def holds_right_to_left(text: str) -> bool:
    """Whether a page needs to be read by its glyphs."""
    return _LETTER.search(text) is not None


def in_reading_order(glyphs: Iterable[Glyph]) -> str:
    """Text of a page. Lines without right-to-left letters stay as they are."""
    lines = list(_lines(glyphs))
    page_text = "".join(glyph.text for line in lines for glyph in line)
    mostly = _count("R", page_text) > _count("L", page_text)
    return "\n".join(_line(line, mostly) for line in lines)


def _lines(glyphs: Iterable[Glyph]) -> Iterator[list[Glyph]]:
    """Lines as pdfium sees them, put together where it broke one because it goes on to the left."""
    line: list[Glyph] = []
    for ends, part in groupby(glyphs, lambda glyph: glyph.text in "\r\n"):
        if ends:
            continue
        more = list(part)
        if line and not _goes_on(line, more):
            yield line
            line = []
        line += more
    if line:
        yield line


def _goes_on(line: Sequence[Glyph], more: Sequence[Glyph]) -> bool:
    """Whether more stands beside a line, on its height and hardly a letter away; and either has such letters."""
    if len(line) > _LONGEST_LINE or not any(_is_own(glyph.text) for glyph in (*line, *more)):
        return False
    height = max(glyph.high - glyph.low for glyph in (*line, *more))
    away = max(min(glyph.left for glyph in line) - max(glyph.right for glyph in more),
               min(glyph.left for glyph in more) - max(glyph.right for glyph in line))  # fmt: skip
    return abs(line[-1].base - more[0].base) < _SAME_HEIGHT * height and -height < away < _NEAR * height


def _line(glyphs: Sequence[Glyph], mostly: bool) -> str:
    text = "".join(glyph.text for glyph in glyphs)
    if not holds_right_to_left(text) or len(text) > _LONGEST_LINE:
        return text
    spaced = _spaced(
        sorted(_with_marks(_at_one_place(glyphs)), key=lambda glyph: (glyph.centre, not _is_own(glyph.text)))
    )
    rightwards = _goes_right("".join(spaced), mostly)
    text = _SHAPED.sub(lambda glyph: unicodedata.normalize("NFKC", glyph[0]), _read(spaced, rightwards))
    return _bracketed(text).strip()


def _goes_right(text: str, mostly: bool) -> bool:
    """Whether a line begins on the left: most of its words do, and so do both its ends or most of the page."""
    words = [
        kind
        for word in text.split()
        if (kind := next((kind_of_letter for kind_of_letter in map(_kind, word) if kind_of_letter in "RL"), ""))
    ]
    if 2 * words.count("R") >= len(words):
        return False
    return not mostly or words[0] == words[-1] == "L"


def _at_one_place(glyphs: Sequence[Glyph]) -> Iterator[Glyph]:
    """Characters that stand for one glyph as one. Spaces that pdfium makes up are left out.

    It turns them round, but for those that it makes itself of a character that Unicode has for several letters.
    """
    for (left, right), group in groupby(glyphs, lambda glyph: (glyph.left, glyph.right)):
        same = list(group)
        text = "".join(glyph.text for glyph in same)
        if right - left < _SAME_PLACE and text.isspace():
            continue
        parts = [glyph.text for glyph in same]
        if len(same) > 1 and _is_own(text):
            parts = [text if text in _LIGATURES else _read(parts, rightwards=False)]
        yield from (replace(glyph, text=part) for part, glyph in zip(parts, same, strict=False))


def _with_marks(glyphs: Iterable[Glyph]) -> list[Glyph]:
    """Vowel signs and the like behind the letter that they stand at."""
    letters: list[Glyph] = []
    marks: list[Glyph] = []
    for glyph in glyphs:
        (marks if _is_mark(glyph.text) else letters).append(glyph)
    for mark in marks:
        at = min(range(len(letters)), key=lambda place: _distance(letters[place], mark), default=None)
        if at is not None:
            marks_of_letter = letters[at]
            left, right = min(marks_of_letter.left, mark.left), max(marks_of_letter.right, mark.right)
            letters[at] = replace(marks_of_letter, text=marks_of_letter.text + mark.text, left=left, right=right)
    return letters


def _distance(letter: Glyph, mark: Glyph) -> tuple[bool, bool, float]:
    outside = max(letter.left - mark.centre, mark.centre - letter.right, 0.0)
    far = outside + abs(letter.centre - mark.centre) / 1000
    return letter.text.isspace(), abs(letter.drawn_at - mark.drawn_at) > _SAME_PLACE, far


def _spaced(glyphs: Sequence[Glyph]) -> list[str]:
    """What stands from left to right, with a space in gaps that are words' gaps."""
    wide = _WORD_GAP * max((each_glyph.high - each_glyph.low for each_glyph in glyphs), default=0.0)
    texts: list[str] = []
    for at, glyph in enumerate(glyphs):
        if at and glyph.left - glyphs[at - 1].right > wide and not (glyph.text + texts[-1]).isspace():
            texts.append(" ")
        texts.append(glyph.text)
    return texts


def _read(characters: Sequence[str], rightwards: bool) -> str:
    """In the order of reading what stands from left to right, in a line that goes to the right or to the left."""
    kinds = _kinds(characters)
    if not rightwards:
        return _turned(characters, kinds, 0, len(characters), _FOREIGN)
    parts, at = [], 0
    for run in _OWN.finditer(kinds):
        parts += ["".join(characters[at : run.start()]), _turned(characters, kinds, run.start(), run.end(), _NUMBERS)]
        at = run.end()
    return "".join([*parts, *characters[at:]])


def _turned(characters: Sequence[str], kinds: str, start: int, end: int, pattern: re.Pattern[str]) -> str:
    """A stretch from right to left, but for what goes left to right within it."""
    parts: list[str] = []
    at = start
    for piece in pattern.finditer(kinds, start, end):
        parts += [*characters[at : piece.start()], "".join(characters[piece.start() : piece.end()])]
        at = piece.end()
    return "".join(reversed([*parts, *characters[at:end]]))


def _bracketed(text: str) -> str:
    """Brackets as they are read, since pdfium mirrors some: one opens before a word and closes behind one."""
    inside: list[str] = []
    read = list(text)
    for at, bracket in enumerate(text):
        if (opening := _OPENING.get(bracket)) is None:
            continue
        before, after = text[max(at - 1, 0) : at].isalnum(), text[at + 1 : at + 2].isalnum()
        opens = after if after != before else opening not in inside
        if opens and not (before or after):  # nothing tells
            continue
        read[at] = opening if opens else _BRACKETS[opening]
        inside = [*inside, opening] if opens else [open_bracket for open_bracket in inside if open_bracket != opening]
    return "".join(read)


def _kinds(characters: Sequence[str]) -> str:
    """A letter for each: R and L have a direction, N is of a number, O has what is around it."""
    arabic = any(_ARABIC.search(character) for character in characters)
    plain = [_kind(character) for character in characters]
    kinds = list(plain)
    for at, text in enumerate(characters):
        neighbours = (at > 0 and plain[at - 1] == "N", at + 1 < len(characters) and plain[at + 1] == "N")
        joins = (
            all(neighbours)
            if text in _BETWEEN_DIGITS[arabic]
            else text in _AT_NUMBERS and not arabic and any(neighbours)
        )
        if joins:
            kinds[at] = "N"
    return "".join(kinds)


def _kind(text: str) -> str:
    if _is_own(text):
        return "R"
    direction = unicodedata.bidirectional(text[0])
    if direction in ("EN", "AN"):
        return "N"
    return "L" if direction == "L" else "O"


def _is_own(text: str) -> bool:
    return any(unicodedata.bidirectional(character) in ("R", "AL") for character in text)


def _is_mark(text: str) -> bool:
    return unicodedata.category(text[0]) == "Mn"


def _count(kind: str, text: str) -> int:
    return sum(_kind(character) == kind for character in text)
