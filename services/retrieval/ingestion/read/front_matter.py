"""The block of YAML between lines of three dashes that may open a Markdown file."""

import re
from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

import yaml

_LONGEST = 65536
_FENCED = re.compile(r"---[ \t]*\n(.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)


class FrontMatter(NamedTuple):
    """Its entries as text, and where the document proper begins."""

    entries: Mapping[str, str]
    end: int


def read(text: str) -> FrontMatter:
    """Reads it. What is no YAML mapping is no front matter, and stays text."""
    match = _FENCED.match(text, 0, _LONGEST)
    if match is None:
        return FrontMatter({}, 0)
    try:
        loaded = yaml.safe_load(match[1])
    except (yaml.YAMLError, ValueError, RecursionError):
        return FrontMatter({}, 0)
    if not isinstance(loaded, dict):
        return FrontMatter({}, 0)
    entries = {str(key): words for key, value in loaded.items() if (words := _words(value))}
    return FrontMatter(entries, match.end())


def _words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, map(_word, value)))
    return _word(value)


def _word(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, str | int | float) else ""
