"""Pages of a list: how long one is, and where it begins."""

import base64
import binascii

from citemesh.contract.bounds import DEFAULT_PAGE, MOST_PAGE
from citemesh.errors import InvalidInput


def size(entries: int) -> int:
    """Entries of a page."""
    return bounded("page_size", entries, DEFAULT_PAGE, MOST_PAGE)


def start(token: str) -> str:
    """The entry that a page begins after. Raises InvalidInput for a token that no answer gave."""
    try:
        return base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        raise InvalidInput("page_token", "no answer gave it", "send a next_page_token, or nothing") from None


def token(last: str) -> str:
    """Token of the page after an entry."""
    return base64.urlsafe_b64encode(last.encode()).decode("ascii")


def bounded(field: str, number: int, default: int, most: int) -> int:
    """A number within its range; 0 takes the default. Raises InvalidInput."""
    if not 0 <= number <= most:
        raise InvalidInput(field, f"{number} is out of range", f"ask for 1 to {most}, or 0 for {default}")
    return number or default
