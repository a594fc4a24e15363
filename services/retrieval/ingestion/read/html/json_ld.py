"""What a page says of itself in JSON-LD (schema.org): when it was published."""

import json
from collections.abc import Iterator

from lxml.html import HtmlElement

_LONGEST = 256 * 1024
_MOST_SCRIPTS = 16
_MOST_ENTRIES = 2000
_KEYS = ("datePublished", "dateCreated", "uploadDate")


def published(root: HtmlElement) -> str:
    """The first date of publication; empty where there is none."""
    scripts = root.xpath("//script[@type='application/ld+json']/text()")[:_MOST_SCRIPTS]
    entries = [entry for script in scripts for entry in _entries(_loaded(str(script)))]
    return next(
        (str(candidate[key]) for key in _KEYS for candidate in entries if isinstance(candidate.get(key), str)), ""
    )


def _loaded(script: str) -> object:
    try:
        return json.loads(script) if len(script) <= _LONGEST else None
    except (ValueError, RecursionError):
        return None


def _entries(loaded: object) -> Iterator[dict[str, object]]:
    """Objects within objects, the outer ones first; a bounded number of them."""
    waiting = [loaded]
    for _ in range(_MOST_ENTRIES):
        if not waiting:
            return
        entry = waiting.pop(0)
        if isinstance(entry, dict):
            yield entry
            waiting += entry.values()
        elif isinstance(entry, list):
            waiting += entry
