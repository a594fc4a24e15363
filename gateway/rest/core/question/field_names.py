"""Asks on behalf of an API whose fields have other names than a question's."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from citemesh.client.types import AskEvent
from citemesh.errors import InvalidInput


async def in_words_of(names: Mapping[str, str], events: AsyncGenerator[AskEvent]) -> AsyncGenerator[AskEvent]:
    """The events; an error over a field names it as the API does. ``names``: the API's name by the question's."""
    async with aclosing(events):
        try:
            async for event in events:
                yield event
        except InvalidInput as error:
            raise renamed(error, names) from None


def renamed(error: InvalidInput, names: Mapping[str, str]) -> InvalidInput:
    """The error with its field's name in the API's words; the longest name that begins it counts."""
    for name in sorted(names, key=len, reverse=True):
        if error.field == name or error.field.startswith((f"{name}.", f"{name}[")):
            return type(error)(names[name] + error.field[len(name) :], error.fault, error.remedy)
    return error
