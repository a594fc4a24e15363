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


_PARTICIPLES = """
    found told kept said asked wanted chosen made seen given taken known named held gone got past ended spent drawn came
    took begun judged started stated written shown sent watched stored
"""
_OTHERS = """
    one ones it its mine theirs ours own what some others whole who these those them they both either here there where
    how why apart aside beside among worth
"""
NO_NOUNS = frozenset((_PARTICIPLES + _OTHERS).split())
"""Participles, pronouns and adverbs: as a name they say nothing of the value."""


def main() -> int:
    """Prints the faults; returns the exit status."""
    found = [*_folders(), *_files(), *_twins(), *_names(), *_words()]
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


def _names() -> Iterator[str]:
    for path in _code(*PRODUCT):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for name, line in sorted(_bound(function).items()):
                    yield f"{path}:{line}: {name}: name the value by a noun that says what it is"


def _bound(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, int]:
    """The names that a function binds and that are no nouns, each with its first line."""
    bound: dict[str, int] = {}
    for node in ast.walk(function):
        name = node.arg if isinstance(node, ast.arg) else node.id if isinstance(node, ast.Name) else ""
        stored = isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        if stored and name in NO_NOUNS:
            bound.setdefault(name, node.lineno)
    return bound


def _words() -> Iterator[str]:
    for path in _code(*PRODUCT):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := OTHER_WORDS.search(line):
                yield f"{path}:{number}: {match.group()!r}: use a word of docs/glossary.md"


if __name__ == "__main__":
    sys.exit(main())
