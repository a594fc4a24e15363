"""Where a page of threads ended, as a token."""

import base64
import binascii
from datetime import UTC, datetime, timedelta

from citemesh.errors import InvalidInput
from gateway.threads.turn import Thread

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 128


def token_of(thread: Thread) -> str:
    """The token of the page after a thread."""
    used = (thread.updated_at - _EPOCH) // timedelta(microseconds=1)
    return base64.urlsafe_b64encode(f"{used}:{thread.thread_id}".encode()).decode()


def after(token: str) -> tuple[int, str] | None:
    """What a page begins after; None for the first page. Raises InvalidInput for a token that no answer gave."""
    if not token:
        return None
    try:
        text = base64.b64decode(token[:_LONGEST].encode(), altchars=b"-_", validate=True).decode()
        used, colon, thread_id = text.partition(":")
        if not colon or not used.isascii() or not used.isdigit() or len(used) > 18:
            raise ValueError
        return int(used), thread_id
    except (binascii.Error, ValueError):
        raise InvalidInput("page_token", "no answer gave it", "send a next_page_token, or nothing") from None
