"""Numbers as they are written in metadata."""

import math
import re

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_LONGEST = 64


def number_of(text: str) -> float | None:
    """The number that a text is, such as "2024" or " -1.5"; None where it is none, or not finite."""
    trimmed = text.strip() if len(text) <= _LONGEST else ""
    if not _NUMBER.fullmatch(trimmed):
        return None
    number = float(trimmed)
    return number if math.isfinite(number) else None
