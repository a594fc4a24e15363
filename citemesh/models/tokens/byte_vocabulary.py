"""The vocabulary that the fake engines share: a token is a byte of UTF-8, so it needs no weights and no files.

Ids 0 to 255 are bytes; then come the control tokens that frame a conversation's turns.
"""

import hashlib
from collections.abc import Iterable

NAME = "bytes"
CONTROL = ("<|begin|>", "<|turn|>", "<|end|>")
BEGIN, TURN, END = range(256, 256 + len(CONTROL))
SIZE = 256 + len(CONTROL)
MAX_TOKENS = 32768
DIGEST = hashlib.sha256(f"citemesh byte vocabulary 1 {CONTROL}".encode()).hexdigest()


def encode(text: str) -> list[int]:
    """Returns the bytes of a text as ids."""
    return list(text.encode("utf-8"))


def decode(ids: Iterable[int], skip_special_tokens: bool = True) -> str:
    """Returns the text of ids below SIZE; bytes that make no whole character become U+FFFD."""
    parts = bytearray()
    for token in ids:
        if token < 256:
            parts.append(token)
        elif not skip_special_tokens:
            parts.extend(CONTROL[token - 256].encode())
    return parts.decode("utf-8", errors="replace")
