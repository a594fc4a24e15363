"""Two columns of a PDF page whose text was written line by line across both: found out, and read one after the other.

Most PDFs hold their columns in reading order, and are left as they are. What looks like columns and is a table isn't
touched either: the lines of a column fill it, and cells don't.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

Box = tuple[float, float, float, float]
"""Left, bottom, right and top, in points from the page's lower left corner."""
Character = tuple[str, float, float]
"""A character and its left and right edge."""

MOST_BOXES = 20_000
_FEWEST_LINES = 8
_NARROWEST = 6
_MIDDLE = (0.4, 0.6)
_CROSSING = 0.15
_FILLED = 0.7
_ALIKE = 0.75
_ACROSS = 0.5
_SWITCHES = 0.5
_LINE = 4.0


def interleaved(boxes: Sequence[Box]) -> float | None:
    """Where the gap is between the two columns of a page whose boxes, in the order of its text, jump between them.

    None for any other page.
    """
    if not 2 * _FEWEST_LINES <= len(boxes) <= MOST_BOXES:
        return None
    gap = _gap(boxes, min(box[0] for box in boxes), max(box[2] for box in boxes))
    if gap is None:
        return None
    sides = [_side(box, gap) for box in boxes]
    left, across, right = (
        _lines([box for box, at in zip(boxes, sides, strict=True) if at == side]) for side in (-1, 0, 1)
    )
    fewest = min(len(left), len(right))
    if fewest < _FEWEST_LINES or len(across) > fewest * _ACROSS or not _like_columns(left, right):
        return None
    in_columns = [side for side in sides if side]
    switches = sum(before != after for before, after in pairwise(in_columns))
    return gap if switches >= _SWITCHES * 2 * fewest else None


def by_columns(characters: Iterable[Character], gap: float) -> str:
    """Text of a page, its left column before its right one; a line across both ends what is before it."""
    parts: list[str] = []
    columns: tuple[list[str], list[str]] = ([], [])
    for line in _text_lines(characters):
        if any(left < gap < right for _, left, right in line):
            _flush(parts, columns)
            parts.append("".join(text for text, _, _ in line))
            continue
        side = 0
        halves: tuple[list[str], list[str]] = ([], [])
        for text, left, _ in line:
            side = side if text.isspace() else int(left >= gap)
            halves[side].append(text)
        for column, half in zip(columns, halves, strict=True):
            if words := "".join(half).strip():
                column.append(words)
    _flush(parts, columns)
    return "\n".join(parts)


def _flush(parts: list[str], columns: tuple[list[str], list[str]]) -> None:
    for column in columns:
        parts += column
        column.clear()


def _text_lines(characters: Iterable[Character]) -> Iterator[list[Character]]:
    line: list[Character] = []
    for character in characters:
        if character[0] in "\r\n":
            if line:
                yield line
            line = []
        else:
            line.append(character)
    if line:
        yield line


def _gap(boxes: Sequence[Box], left: float, right: float) -> float | None:
    """Middle of the widest stretch near the page's middle that hardly any text crosses."""
    start, end = (round(left + (right - left) * share) for share in _MIDDLE)
    crossing = [0.0] * max(0, end - start)
    for box in boxes:
        for x in range(max(start, round(box[0])), min(end, round(box[2]))):
            crossing[x - start] += box[3] - box[1]
    height = max(box[3] for box in boxes) - min(box[1] for box in boxes)
    widest, since = (0, 0), 0
    for at, amount in enumerate([*crossing, height]):
        if amount > _CROSSING * height:
            widest, since = max(widest, (at - since, since)), at + 1
    return start + widest[1] + widest[0] / 2 if widest[0] >= _NARROWEST else None


def _side(box: Box, gap: float) -> int:
    if box[2] <= gap:
        return -1
    return 1 if box[0] >= gap else 0


def _lines(boxes: Sequence[Box]) -> list[Box]:
    """Boxes at about the same height, put together; from the top."""
    lines: list[Box] = []
    for box in sorted(boxes, key=lambda box_key: -box_key[1]):
        if lines and abs(lines[-1][1] - box[1]) <= _LINE:
            last = lines[-1]
            lines[-1] = (min(last[0], box[0]), last[1], max(last[2], box[2]), max(last[3], box[3]))
        else:
            lines.append(box)
    return lines


def _like_columns(left: Sequence[Box], right: Sequence[Box]) -> bool:
    """Whether both are about as wide, and their lines fill them."""
    widths = [max(line[2] for line in lines) - min(line[0] for line in lines) for lines in (left, right)]
    if min(widths) < _ALIKE * max(widths):
        return False
    return all(
        median(line[2] - line[0] for line in lines) >= _FILLED * width
        for lines, width in zip((left, right), widths, strict=True)
    )
