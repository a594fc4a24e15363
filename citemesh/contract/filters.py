"""Checks of a search's filter, the same for the gateway's questions and for retrieval's searches."""

import math
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from citemesh.contract.source_types import check_source_types
from citemesh.errors import InvalidInput
from citemesh.text.characters import lone_surrogate

MOST_VALUES = 1000
MOST_CONDITIONS = 64
MOST_COLLECTIONS = 16
LONGEST_VALUE = 4096
LONGEST_KEY = 256


class ConditionFields(Protocol):
    """What one entry of metadata must be; one of the last three is set."""

    @property
    def key(self) -> str:
        """The entry's name."""

    @property
    def any_of(self) -> Sequence[str]:
        """Values of which it is one."""

    @property
    def numbers(self) -> tuple[float | None, float | None] | None:
        """Least and greatest number; None bounds nothing."""

    @property
    def texts(self) -> tuple[str | None, str | None] | None:
        """First and last text; an empty one and None bound nothing."""


class FilterFields(Protocol):
    """What a passage's document must be; an empty field takes all."""

    @property
    def document_ids(self) -> Sequence[str]:
        """Ids of documents."""

    @property
    def source_types(self) -> Sequence[str]:
        """Kinds of source."""

    @property
    def domains(self) -> Sequence[str]:
        """Domains of the address; a leading "-" denies one."""

    @property
    def languages(self) -> Sequence[str]:
        """Languages by ISO 639-1 code."""

    @property
    def published_after(self) -> datetime | None:
        """The first time that passes."""

    @property
    def published_before(self) -> datetime | None:
        """The first time after that which no longer passes."""

    @property
    def metadata(self) -> Mapping[str, str]:
        """Entries that must be equal."""

    @property
    def conditions(self) -> Sequence[ConditionFields]:
        """What else metadata must be."""


def check_filter(field: str, fields: FilterFields) -> None:
    """Raises InvalidInput for a filter out of bounds; the error's field begins with ``field``."""
    for name in ("document_ids", "source_types", "domains", "languages", "metadata"):
        _check_count(f"{field}.{name}", getattr(fields, name), MOST_VALUES)
    if any(not domain.strip("-. ") for domain in fields.domains):
        raise InvalidInput(f"{field}.domains", "one of them is empty", 'name domains, with a "-" before denied ones')
    _check_count(f"{field}.conditions", fields.conditions, MOST_CONDITIONS)
    for at, condition in enumerate(fields.conditions):
        _check_condition(f"{field}.conditions[{at}]", condition)


def check_filter_values(field: str, fields: FilterFields) -> None:
    """Raises InvalidInput for values that can't match: half characters, endless ones, unknown kinds, a turned period.

    Retrieval takes these, and finds nothing; a person who asks a question is better told.
    """
    for name in ("document_ids", "source_types", "domains", "languages"):
        check_values(f"{field}.{name}", getattr(fields, name))
    check_source_types(f"{field}.source_types", fields.source_types)
    check_values(f"{field}.metadata", (*fields.metadata, *fields.metadata.values()))
    _check_period(field, fields.published_after, fields.published_before)
    for at, condition in enumerate(fields.conditions):
        check_whole(f"{field}.conditions[{at}].key", condition.key)
        check_values(f"{field}.conditions[{at}].text", tuple(filter(None, condition.texts or ())))
        check_values(f"{field}.conditions[{at}].any_of", condition.any_of)


def check_collections(field: str, names: Sequence[str]) -> None:
    """Raises InvalidInput for too many collections, or one without a name."""
    _check_count(field, names, MOST_COLLECTIONS)
    check_values(field, names)
    if "" in names:
        raise InvalidInput(field, "one of them is empty", "name each collection")


def check_values(field: str, values: Sequence[str]) -> None:
    """Raises InvalidInput for a value that is too long or not whole."""
    for value in values:
        check_whole(field, value)
        if len(value) > LONGEST_VALUE:
            raise InvalidInput(field, f"has a value of {len(value)} characters", f"use up to {LONGEST_VALUE}")


def check_whole(field: str, text: str) -> None:
    """Raises InvalidInput for a text with half a character: JSON can spell a lone surrogate, UTF-8 can't."""
    if (at := lone_surrogate(text)) is not None:
        fault = f"has half a character (a lone surrogate) at {at}"
        raise InvalidInput(field, fault, "send whole Unicode characters")


def _check_count(field: str, values: Collection[object], most: int) -> None:
    if len(values) > most:
        raise InvalidInput(field, f"has {len(values)} entries", f"name up to {most}")


def _check_period(field: str, after: datetime | None, before: datetime | None) -> None:
    if after is not None and before is not None and after >= before:
        raise InvalidInput(f"{field}.published_before", "is not after published_after", "swap the two")


def _check_condition(field: str, condition: ConditionFields) -> None:
    if not 0 < len(condition.key) <= LONGEST_KEY:
        raise InvalidInput(f"{field}.key", "is empty or too long", f"name an entry in up to {LONGEST_KEY} characters")
    if condition.numbers is not None:
        _check_range(f"{field}.number", *condition.numbers)
    elif condition.texts is not None:
        _check_range(f"{field}.text", condition.texts[0] or None, condition.texts[1] or None)
    elif not condition.any_of:
        raise InvalidInput(field, "says nothing of the value", "set any_of, number or text")
    _check_count(f"{field}.any_of", condition.any_of, MOST_VALUES)


def _check_range(field: str, low: float | str | None, high: float | str | None) -> None:
    if low is None and high is None:
        raise InvalidInput(field, "has no bound", "set from, to or both")
    if any(isinstance(bound, float) and math.isnan(bound) for bound in (low, high)):
        raise InvalidInput(field, "has a bound that is no number", "send numbers")
    if low is not None and high is not None and low > high:  # type: ignore[operator]  # both are of one type
        raise InvalidInput(field, "begins after its end", "swap from and to")
