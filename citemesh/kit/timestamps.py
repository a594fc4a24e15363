"""Times in messages, to plain values and back."""

from datetime import UTC, datetime
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.errors import InvalidInput


def datetime_of(message: Message, field: str, path: str) -> datetime | None:
    """Returns the time in a message's field, in UTC; None where it is absent.

    Raises InvalidInput, with the path as its field, for a time that is no date.
    """
    if not message.HasField(field):
        return None
    stamp: Any = getattr(message, field)
    try:
        return stamp.ToDatetime(tzinfo=UTC)  # type: ignore[no-any-return]  # a field's type isn't known by its name
    except (ValueError, OverflowError):
        raise InvalidInput(path, "it is no date", "send a date of the years 1 to 9999") from None


def timestamp(at: datetime) -> Timestamp:
    """Returns the message of a time."""
    message = Timestamp()
    message.FromDatetime(at.astimezone(UTC))
    return message
