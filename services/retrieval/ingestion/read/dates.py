"""Dates as documents write them, to ISO 8601."""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_LONGEST = 64
_EARLIEST = 1000
_AHEAD = timedelta(days=366)
_NUMBER = re.compile(r"\d{9,19}(?:\.\d+)?")
_SECONDS, _MILLIS, _MICROS = 1e11, 1e14, 1e17
_PLAIN = re.compile(r"(\d{4})[-/.年](\d{1,2})(?:[-/.月](\d{1,2})日?)?(?![\d.])")
_YEAR = re.compile(r"\d{4}")
_ISO_WEEK_FREE = re.compile(r"\d{4}-?\d\d-?\d\d(?:[T ].*)?")


def date_of(text: str) -> datetime | None:
    """A date in ISO 8601, RFC 2822, as year/month/day, as a year, or in seconds or so since 1970; UTC where it names no
    zone. None where it is none, or no date of a document: before the year 1000, or over a year from now."""
    text = " ".join(text.split())
    if not text or len(text) > _LONGEST:
        return None
    date = _iso(text) or _counted(text) or _plain(text) or _mail(text)
    if date is None or date.year < _EARLIEST:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return date if date <= datetime.now(UTC) + _AHEAD else None


def _iso(text: str) -> datetime | None:
    if _ISO_WEEK_FREE.fullmatch(text):
        with suppress(ValueError):
            return datetime.fromisoformat(text)
    return None


def _counted(text: str) -> datetime | None:
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    scale = 1.0 if number < _SECONDS else 1e3 if number < _MILLIS else 1e6 if number < _MICROS else 1e9
    return datetime.fromtimestamp(number / scale, UTC)


def _plain(text: str) -> datetime | None:
    with suppress(ValueError):
        if match := _PLAIN.match(text):
            return datetime(int(match[1]), int(match[2]), int(match[3] or 1))
        if _YEAR.fullmatch(text):
            return datetime(int(text), 1, 1)
    return None


def _mail(text: str) -> datetime | None:
    with suppress(ValueError, TypeError, OverflowError):
        return parsedate_to_datetime(text)
    return None
