"""The fields of a request: declared once, read by the endpoint and told by the API's description.

A field that is absent or null has its default. What isn't declared is left alone.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from citemesh.errors import InvalidInput
from gateway.rest.core.body import as_kind

T = TypeVar("T")
_TRUE_OR_FALSE = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Field(Generic[T]):
    """A field: how its value is read, and what the description says of it."""

    name: str
    default: T
    about: str
    schema: dict[str, Any]
    read: Callable[[str, Any], T]
    required: bool = False

    def of(self, body: Mapping[str, Any]) -> T:
        """Its value in a body. Raises InvalidInput, naming the field, for one that can't be taken."""
        value = body.get(self.name)
        if value is not None:
            return self.read(self.name, value)
        if self.required:
            raise InvalidInput(self.name, "is missing", self.about)
        return self.default


class Fields:
    """A table of fields. Its methods declare one each; ``more`` are tables whose fields it has too."""

    def __init__(self, *more: "Fields") -> None:
        self._all: dict[str, Field[Any]] = {name: field for parent in more for name, field in parent._all.items()}
        self._unused: dict[str, str] = {name: about for parent in more for name, about in parent._unused.items()}

    def text(self, name: str, about: str, one_of: tuple[str, ...] = (), required: bool = False) -> Field[str]:
        """A text, "" where absent."""
        schema = {"type": "string"} | ({"enum": list(one_of)} if one_of else {})

        def read(field: str, value: Any) -> str:
            text = as_kind(field, value, str)
            if one_of and text not in one_of:
                raise InvalidInput(field, f"is {text[:40]!r}", f"use {' or '.join(one_of)}")
            return text

        return self._add(Field(name, "", about, schema, read, required))

    def whole(self, name: str, about: str, default: int = 0) -> Field[int]:
        """A whole number."""
        return self._add(Field(name, default, about, {"type": "integer"}, lambda f, v: as_kind(f, v, int)))

    def number(self, name: str, about: str) -> Field[float | None]:
        """A number, None where absent."""

        def read(field: str, value: Any) -> float | None:
            return as_kind(field, value, float)

        return self._add(Field(name, None, about, {"type": "number"}, read))

    def flag(self, name: str, about: str, default: bool = False) -> Field[bool]:
        """True or false."""
        return self._add(Field(name, default, about, {"type": "boolean"}, lambda f, v: as_kind(f, v, bool)))

    def texts(self, name: str, about: str) -> Field[tuple[str, ...]]:
        """A list of texts."""
        schema = {"type": "array", "items": {"type": "string"}}
        return self._add(Field(name, (), about, schema, texts_of))

    def items(self, name: str, about: str, required: bool = False) -> Field[list[Any]]:
        """A list of anything."""
        schema = {"type": "array", "items": {}}
        return self._add(Field(name, [], about, schema, lambda f, v: as_kind(f, v, list), required))

    def object(self, name: str, about: str, inner: "Fields | None" = None) -> Field[dict[str, Any]]:
        """An object, {} where absent."""
        schema = inner.schema() if inner else {"type": "object"}
        return self._add(Field(name, {}, about, schema, lambda f, v: as_kind(f, v, dict)))

    def anything(self, name: str, about: str, schema: dict[str, Any], required: bool = False) -> Field[Any]:
        """A value of several kinds, which the endpoint reads by itself; None where absent."""
        return self._add(Field(name, None, about, schema, lambda _, value: value, required))

    def unused(self, about: str, *names: str) -> None:
        """Fields that the API knows and this gateway doesn't use; an answer tells which of them were sent."""
        self._unused |= dict.fromkeys(names, about)

    def ignored(self, body: Mapping[str, Any]) -> list[str]:
        """Names of the unused fields that a body has a value for."""
        return [name for name in self._unused if body.get(name) not in (None, False, [], {}, "")]

    def schema(self) -> dict[str, Any]:
        """The table as a JSON Schema."""
        properties = {field.name: field.schema | {"description": field.about} for field in self._all.values()}
        unused = {name: {"description": f"Not used: {about}"} for name, about in self._unused.items()}
        required = [field.name for field in self._all.values() if field.required]
        return {"type": "object", "properties": properties | unused} | ({"required": required} if required else {})

    def from_texts(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Values of a query string or a form, where all is text, by the kinds of their fields."""
        return {name: _typed(self._all[name], text) if name in self._all else text for name, text in texts.items()}

    def _add(self, field: Field[T]) -> Field[T]:
        self._all[field.name] = field
        return field


def texts_of(field: str, value: Any) -> tuple[str, ...]:
    """A list of texts. Raises InvalidInput for anything else."""
    return tuple(as_kind(f"{field}[{at}]", item, str) for at, item in enumerate(as_kind(field, value, list)))


def _typed(field: Field[Any], text: str) -> Any:
    kind = field.schema.get("type")
    try:
        if kind == "boolean":
            return _TRUE_OR_FALSE[text.lower()]
        if kind in ("integer", "object", "array"):
            return json.loads(text)
    except (KeyError, ValueError, RecursionError):
        raise InvalidInput(field.name, f"is {text[:40]!r}", f"send a value of the type {kind}") from None
    return text
