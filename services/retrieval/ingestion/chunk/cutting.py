"""Where a text may be cut: at lines, at spaces, between characters as a reader sees them."""

from collections.abc import Iterator

from citemesh.text.characters import whole_character

Span = tuple[int, int]

_PREFERRED = 4


def lines(text: str, start: int, end: int) -> Iterator[Span]:
    """Spans that cover start..end, each a line with its line feed."""
    while start < end:
        line_end = text.find("\n", start, end) + 1 or end
        yield start, line_end
        start = line_end


def by_size(text: str, start: int, end: int, most: int) -> Iterator[Span]:
    """Spans that cover start..end, each at most `most` characters long; cut at a space where one is near."""
    while end - start > most:
        cut = whole_character(text, start, _space_before(text, start, start + most))
        yield start, cut
        start = cut
    yield start, end


def _space_before(text: str, start: int, cut: int) -> int:
    """The place after the last space in the last quarter of start..cut; cut itself where there is none."""
    window = text[cut - (cut - start) // _PREFERRED : cut]
    length = len(window.rstrip()) if window[-1:].isspace() else -1
    if length >= 0:
        return cut
    words = window.rsplit(None, 1)
    return cut - len(words[-1]) if len(words) > 1 or window[:1].isspace() else cut
