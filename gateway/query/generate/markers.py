"""Takes the citation markers that a model writes out of its text: they are hints, the numbers are ours to give."""

import re
from dataclasses import dataclass

_MARKER = re.compile(r"[ \t]*(?:\[|【)\s*(?:[Ss]ources?|来源)?\s*(\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)\s*(?:\]|】)")
_IMAGE = "!["
_UNFINISHED = re.compile(r"\s*(?:!|!?(?:\[|【)\s{0,2}(?:[A-Za-z]{0,7}|来源?)\s{0,2}[\d,;–\-\s]{0,24})?\Z")
_NUMBER = re.compile(r"\d+")
_CODE = re.compile(r"[=;{}`]|\w\(|\w\.\w")


@dataclass(frozen=True, slots=True)
class Hint:
    """A marker that the model wrote: the number and where it stood in the text without markers."""

    position: int
    number: int


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Text without markers and the hints that were in it."""

    text: str
    hints: tuple[Hint, ...] = ()


class MarkerFilter:
    """Strips ``[2]``, ``[1, 3]`` and ``【4】`` from a stream, also where a delta ends inside one.

    What could still become a marker is held back (at most a few characters). Text in backquotes is left alone:
    ``a[1]`` is code there. White space before the first word is dropped. An image of Markdown becomes a link: readers'
    programs fetch images by themselves, and an address can be a document's way to carry words out.
    """

    def __init__(self) -> None:
        self._held = ""
        self._length = 0
        self._in_code = False

    def feed(self, text: str) -> Cleaned:
        """Takes the next part and returns what is sure."""
        text = self._held + text
        unfinished = _UNFINISHED.search(text)
        cut = unfinished.start() if unfinished else len(text)
        self._held = text[cut:]
        return self._clean(text[:cut])

    def close(self) -> Cleaned:
        """Returns what was held back; white space at the very end is dropped."""
        rest, self._held = self._held.rstrip(), ""
        return self._clean(rest)

    def _clean(self, text: str) -> Cleaned:
        parts: list[str] = []
        hints: list[Hint] = []
        at = 0
        for match in _MARKER.finditer(text):
            self._keep(parts, text[at : match.start()])
            at = match.end()
            if self._in_code:
                self._keep(parts, match.group())
            else:
                hints += [Hint(self._length, int(n)) for n in _NUMBER.findall(match.group(1))]
        self._keep(parts, text[at:])
        return Cleaned("".join(parts), tuple(hints))

    def _keep(self, parts: list[str], text: str) -> None:
        text = text if self._length else text.lstrip()
        text = text if self._in_code else text.replace(_IMAGE, "[")
        parts.append(text)
        self._length += len(text)
        self._in_code ^= text.count("`") % 2 == 1


def unmarked(text: str) -> str:
    """A quoted text without what looks like one of our markers, and with links for images, as a model's text.

    An index in code (``argv[1]``) stays: it stands right behind a word, in a text that has other signs of code.
    """
    code = bool(_CODE.search(text))

    def kept(match: re.Match[str]) -> str:
        before = text[match.start() - 1 : match.start()]
        return match.group() if code and match.group()[0] == "[" and (before.isalnum() or before == "_") else ""

    return _MARKER.sub(kept, text).replace(_IMAGE, "[").strip()
