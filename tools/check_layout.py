"""Checks that the code keeps its order: small folders, one meaning a class name, nouns for values, the field's words.

python tools/check_layout.py     # prints file:line: what: what to do; exit status 1 where there is anything
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

PRODUCT = ("citemesh", "services", "gateway", "cli")
CODE = (*PRODUCT, "bench", "tools", "tests")
GENERATED = Path("citemesh/api")
MOST_FILES = 14
LONGEST_FILE = 400
TWINS = frozenset(("Delta", "Duplicate", "Upload", "Sampling", "Usage"))
"""A client's types and the service's own values that are the same thing on both sides of the wire."""
OTHER_WORDS = re.compile(r"\b(undertaker|tongues?|keeper|tender|ways? in|knocks?)\b", re.IGNORECASE)
"""Words that no one would search for; see docs/glossary.md for those that are used."""


def main() -> int:
    """Prints the faults; returns the exit status."""
    found = [*_folders(), *_files(), *_twins(), *_words()]
    print("\n".join(found) or "the layout is in order")
    return 1 if found else 0


def _code(*roots: str) -> list[Path]:
    paths = (path for root in roots for path in Path(root).rglob("*.py"))
    return sorted(path for path in paths if GENERATED not in path.parents)


def _folders() -> Iterator[str]:
    counts = Counter(path.parent for path in _code(*CODE))
    for folder, count in sorted(counts.items()):
        if count > MOST_FILES:
            yield f"{folder}: {count} files: sort them into folders of at most {MOST_FILES}"


def _files() -> Iterator[str]:
    for path in _code(*PRODUCT):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LONGEST_FILE:
            yield f"{path}: {lines} lines: one noun a file, {LONGEST_FILE} lines at most"


def _twins() -> Iterator[str]:
    places: dict[str, list[str]] = defaultdict(list)
    for path in _code(*PRODUCT):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path}:{node.lineno}")
    for name, lines in sorted(places.items()):
        if len(lines) > 1 and name not in TWINS:
            yield f"{lines[1]}: {name} is a class of {lines[0]} too: give it a name of its own"


def _words() -> Iterator[str]:
    for path in _code(*PRODUCT):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := OTHER_WORDS.search(line):
                yield f"{path}:{number}: {match.group()!r}: use a word of docs/glossary.md"


if __name__ == "__main__":
    sys.exit(main())
