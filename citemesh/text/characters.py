"""Characters as a reader sees them: whole ones, joined ones, and the columns that they take on a terminal."""

import unicodedata

_JOINER = "\u200d"
_LONGEST_JOINED = 32
"""Code points of a joined character that are looked at; what is longer is cut all the same."""


def lone_surrogate(text: str) -> int | None:
    """Returns where half a character stands, which JSON can spell and UTF-8 can't; None where all are whole."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def whole_characters(text: str) -> str:
    """Returns the text with a replacement character for each half one, which no tokenizer takes; its length stays."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def are_joined(before: str, after: str) -> bool:
    """Says whether two code points make one character: a mark, a joiner, a skin tone, a pair of flags, CR and LF."""
    if after == _JOINER or before == _JOINER or (before == "\r" and after == "\n"):
        return True
    if unicodedata.category(after).startswith("M") or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    return "\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff"


def whole_character(text: str, start: int, cut: int) -> int:
    """Returns `cut`, moved back so that it tears no character; always over start, and `cut` itself where it can't."""
    at = cut
    for _ in range(_LONGEST_JOINED):
        if at <= start + 1 or at >= len(text) or not are_joined(text[at - 1], text[at]):
            break
        at -= 1
    return at if start < at and (at >= len(text) or not are_joined(text[at - 1], text[at])) else cut


def takes_two_columns(char: str) -> bool:
    """Says whether a terminal shows a character twice as wide as a Latin letter; False for an empty text."""
    return bool(char) and unicodedata.east_asian_width(char) in "WF"
