"""Values of documents that filters compare: hosts of addresses, and numbers in metadata."""

import math
import re
from urllib.parse import urlsplit

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_LONGEST_NUMBER = 64


def domain(uri: str) -> str:
    """Host of a URL in lower case; empty for a path."""
    try:
        return (urlsplit(uri).hostname or "").lower().rstrip(".")
    except ValueError:
        return ""


def suffix(name: str) -> str:
    """Ends of "." and every host of a domain: ".example.org" for "Example.org"."""
    return "." + name.lower().strip(".")


def number_of(text: str) -> float | None:
    """The number that a text writes, such as "2024" or " -1.5"; None where it is none, or not finite."""
    trimmed = text.strip() if len(text) <= _LONGEST_NUMBER else ""
    if not _NUMBER.fullmatch(trimmed):
        return None
    number = float(trimmed)
    return number if math.isfinite(number) else None
