"""Strict reading of a YAML document: every error names the path, the fault and the remedy.

`Node` wraps one value with its path in the document (`services.tokenizer.limits.max_concurrent`), so that
whoever reads the document needs no error text of their own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable
from typing import Any

import yaml

from citemesh.errors import InvalidInput


class _UniqueKeyLoader(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice; plain YAML would silently keep the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys: set[object] = set()
        for key_node, _ in node.value:
            key = key_node.value
            if key in keys:
                line = key_node.start_mark.line + 1
                raise InvalidInput(str(key), f"given twice (line {line})", "keep one of the two")
            keys.add(key)
        return super().construct_mapping(node, deep)


class Node:
    """One value of the document and where it stands. All readers raise `InvalidInput`."""

    def __init__(self, value: object, path: str) -> None:
        self.value = value
        self.path = path

    def refuse(self, fault: str, remedy: str) -> InvalidInput:
        """The error for this place; the caller raises it."""
        return InvalidInput(self.path, fault, remedy)

    def entries(self) -> dict[str, Node]:
        """A mapping whose keys the author chooses, in document order."""
        if not isinstance(self.value, dict):
            raise self.refuse(f"expected a mapping, got {_kind(self.value)}", "write `name: value` lines under it")
        return {str(key): Node(item, f"{self.path}.{key}") for key, item in self.value.items()}

    def fields(self, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Node]:
        """A mapping with known fields; unknown and missing ones are refused."""
        entries = self.entries()
        allowed = [*required, *optional]
        for name, node in entries.items():
            if name not in allowed:
                raise node.refuse("unknown field", f"remove it; known here: {', '.join(sorted(allowed))}")
        for name in required:
            if name not in entries:
                raise InvalidInput(f"{self.path}.{name}", "missing", "add the field")
        return entries

    def items(self) -> list[Node]:
        """A list."""
        if not isinstance(self.value, list):
            raise self.refuse(f"expected a list, got {_kind(self.value)}", "write it as [a, b]")
        return [Node(item, f"{self.path}[{index}]") for index, item in enumerate(self.value)]

    def names(self, choices: Collection[str]) -> tuple[str, ...]:
        """A list of distinct names, each one of `choices`."""
        names = [item.choice(choices) for item in self.items()]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise InvalidInput(f"{self.path}[{index}]", f"{name!r} is listed twice", "list it once")
        return tuple(names)

    def text(self, pattern: str, meaning: str) -> str:
        """A string that matches the whole of `pattern`; `meaning` says it in words."""
        if not isinstance(self.value, str) or not re.fullmatch(pattern, self.value):
            raise self.refuse(f"{self.value!r} is not {meaning}", f"write {meaning}")
        return self.value

    def choice(self, choices: Collection[str]) -> str:
        """One of `choices`."""
        if not isinstance(self.value, str) or self.value not in choices:
            listed = ", ".join(sorted(choices)) or "nothing"
            raise self.refuse(f"{self.value!r} is not known", f"use one of: {listed}")
        return self.value

    def boolean(self) -> bool:
        """true or false, nothing else."""
        if not isinstance(self.value, bool):
            raise self.refuse(f"{self.value!r} is not true or false", "write true or false")
        return self.value

    def integer(self, low: int, high: int) -> int:
        """A whole number within [low, high]."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.refuse(f"{self.value!r} is not a whole number", f"write a number from {low} to {high}")
        if not low <= self.value <= high:
            raise self.refuse(f"{self.value} is out of range", f"write a number from {low} to {high}")
        return self.value

    def number(self, low: float, high: float) -> float:
        """A number within [low, high]."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.refuse(f"{self.value!r} is not a number", f"write a number from {low:g} to {high:g}")
        if not low <= self.value <= high:  # NaN fails both comparisons and is refused too
            raise self.refuse(f"{self.value} is out of range", f"write a number from {low:g} to {high:g}")
        return float(self.value)


def read_yaml(text: str, name: str) -> Node:
    """The document's root node.

    Raises:
        InvalidInput: not YAML, or a key is given twice; names line and column where known.
    """
    try:
        return Node(yaml.load(text, _UniqueKeyLoader), name)  # noqa: S506 - a SafeLoader with one refusal more
    except yaml.YAMLError as error:
        fault = " ".join(str(error).split())
        raise InvalidInput(name, f"not readable as YAML: {fault}", "correct the syntax at that place") from error


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
