"""Reads JSON request bodies; every fault names its field. Fields that aren't known are left alone."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from starlette.requests import Request

from citemesh.contract.filters import check_whole
from citemesh.errors import InvalidInput
from gateway.rest.core.errors import BodyTooLarge

T = TypeVar("T")
MOST_SHOWN = 80
_NAMES = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


async def read_object(request: Request, most_bytes: int) -> dict[str, Any]:
    """The body as a JSON object. Raises BodyTooLarge, or InvalidInput where it is no such thing."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > most_bytes:
            raise BodyTooLarge("body", f"is over {most_bytes} bytes", "send less")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:  # also for numbers of thousands of digits
        raise InvalidInput("body", f"is no JSON: {error}", "send a JSON object in UTF-8") from None
    if not isinstance(value, dict):
        raise InvalidInput("body", "is no JSON object", 'send an object such as {"query": "…"}')
    return value


def optional(body: Mapping[str, Any], field: str, kind: type[T], default: T) -> T:
    """A field of a kind, or the default where it is absent or null."""
    value = body.get(field)
    if value is None:
        return default
    return as_kind(field, value, kind)


def as_kind(field: str, value: Any, kind: type[T]) -> T:
    """The value where it is of a kind, and a text where it is whole. Raises InvalidInput where it is not."""
    if kind is str and isinstance(value, str):
        check_whole(field, value)
    number = kind is float and isinstance(value, int)
    if (isinstance(value, kind) or number) and not (isinstance(value, bool) and kind is not bool):
        return kind(value) if number else value  # type: ignore[call-arg]  # float(int)
    raise InvalidInput(field, f"is {json.dumps(value, ensure_ascii=False)[:MOST_SHOWN]}", f"send {_NAMES[kind]}")


def texts_by_name(field: str, value: Mapping[str, Any]) -> dict[str, str]:
    """An object of texts. Raises InvalidInput naming the entry at fault."""
    for name in value:
        check_whole(field, name)
    return {name: as_kind(f"{field}.{name[:MOST_SHOWN]}", text, str) for name, text in value.items()}
