"""What the identity policy takes as a name, an address block, a call pattern and a collection pattern.

The same rules as the policy's own (`policies/rules`); a test holds the two together. Here a fault is told with
its remedy, before Envoy sees it.
"""

from __future__ import annotations

import ipaddress
import re

from citemesh.errors import InvalidInput

MAX_PATTERN = 256
MAX_NAME = 128

_NAME = re.compile(r"[!#-+\--\[\]-~]{1,128}")
_BLOCK = re.compile(r"[0-9a-fA-F:.]+/(?:0|[1-9][0-9]{0,2})")
_COLLECTION = re.compile(r"\*|[a-z0-9][a-z0-9_-]{0,63}\*?")
_GRPC = re.compile(r"/[A-Za-z0-9_.]+/(?:\*|[A-Za-z0-9_]+)")
_HTTP = re.compile(r"[A-Z]{1,16} (/[!-~]*)")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")
_AMBIGUOUS = frozenset("./\\%;")


def check_name(field: str, text: str) -> None:
    """A subject or tenant, which becomes a header value. Raises InvalidInput."""
    if not _NAME.fullmatch(text):
        fault = f"{_shown(text)} is no name"
        remedy = f"use 1 to {MAX_NAME} visible ASCII characters without comma, quote or backslash"
        raise InvalidInput(field, fault, remedy)


def check_block(field: str, text: str) -> None:
    """An address block such as `10.0.0.0/8` or `fd00::/8`. Raises InvalidInput."""
    if not _BLOCK.fullmatch(text):
        remedy = "write address/prefix, as 10.0.0.0/8, 192.0.2.7/32 or ::1/128"
        raise InvalidInput(field, f"{_shown(text)} is no address block", remedy)
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        remedy = "write the block's first address: bits beyond the prefix are zero"
        raise InvalidInput(field, f"{_shown(text)} is no address block: {error}", remedy) from error


def check_pattern(field: str, text: str) -> None:
    """A call pattern, as `*`, `/pkg.Service/*`, `/pkg.Service/Method`, `GET /v1/*`. Raises InvalidInput."""
    if len(text) <= MAX_PATTERN and (text == "*" or _GRPC.fullmatch(text) or _is_http(text)):
        return
    remedy = "use *, /pkg.Service/*, /pkg.Service/Method, VERB /path or VERB /path/*"
    raise InvalidInput(field, f"{_shown(text)} is no call pattern", remedy)


def check_collection(field: str, text: str) -> None:
    """Which collections a key may reach, as `*`, `name`, `prefix-*`. Raises InvalidInput."""
    if not _COLLECTION.fullmatch(text):
        remedy = "use *, a collection's name, or the beginning of names with a * behind it"
        raise InvalidInput(field, f"{_shown(text)} is no collection pattern", remedy)


def _is_http(text: str) -> bool:
    match = _HTTP.fullmatch(text)
    if not match:
        return False
    path = match[1].removesuffix("*") if match[1].endswith("/*") else match[1]
    return not set("*?") & set(path) and is_plain_path(path)


def is_plain_path(path: str) -> bool:
    """Whether every reader takes the path alike; other paths the policy refuses in calls and patterns.

    Rooted, visible ASCII, no empty, `.` or `..` segment even behind a `;`, no escaped separator or control character.
    """
    visible = all("!" <= letter <= "~" and letter not in "\\#" for letter in path)
    return path.startswith("/") and visible and _segments_are_plain(path) and _escapes_are_plain(path)


def _segments_are_plain(path: str) -> bool:
    *inner, last = path[1:].split("/")
    names = [segment.split(";")[0] for segment in inner] + ([last.split(";")[0]] if last else [])
    return not any(name in ("", ".", "..") for name in names)


def _escapes_are_plain(path: str) -> bool:
    for digits in _ESCAPE.findall(path):
        letter = chr(int(digits, 16)) if digits else "%"
        if letter in _AMBIGUOUS or letter < " " or letter == "\x7f":
            return False
    return True


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
