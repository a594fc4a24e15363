"""How token vectors lie in bytes, and how a part of a text's is cut out: plain Python, for services without numpy.

Version 1, little-endian; n tokens of d dimensions take 16 + n · (6 + d) bytes:

    offset        type          what
    0             4 bytes       "CMTV"
    4             u16           version, 1
    6             u16           d, 1 to 128
    8             u32           n, 0 to 65536
    12            u32           characters of the text, in code points
    16            u32 [n]       last code point of each token in the text, never descending
    16 + 4n       f16 [n]       scale of each vector, 0 or more, finite
    16 + 6n       i8  [n, d]    codes; a vector is its scale times its codes, of length one but for rounding
"""

import struct
from bisect import bisect_left

MOST_DIMENSIONS = 128
MOST_TOKENS = 65536
VERSION = 1
HEADER = struct.Struct("<4sHHII")
_MAGIC = b"CMTV"


def header(dimensions: int, tokens: int, characters: int) -> bytes:
    """The first 16 bytes."""
    return HEADER.pack(_MAGIC, VERSION, dimensions, tokens, characters)


def measures(packed: bytes) -> tuple[int, int, int]:
    """Dimensions, tokens and characters by the header. Raises ValueError that says why the bytes don't fit it."""
    if len(packed) < HEADER.size:
        raise ValueError(f"{len(packed)} bytes are too few")
    magic, version, dimensions, tokens, characters = HEADER.unpack_from(packed)
    if magic != _MAGIC or version != VERSION:
        raise ValueError(f"it is not in layout {VERSION}")
    if not 1 <= dimensions <= MOST_DIMENSIONS or tokens > MOST_TOKENS:
        raise ValueError(f"it has {tokens} vectors of {dimensions} dimensions")
    if len(packed) != HEADER.size + tokens * (6 + dimensions):
        raise ValueError(f"it has {len(packed)} bytes, which is another size than its header's")
    return dimensions, tokens, characters


def cut(packed: bytes, start: int, end: int, characters: int | None = None) -> bytes:
    """The vectors of the tokens that end in a stretch of the text, as those of a text of its own.

    Args:
        start, end: the stretch, in code points; end exclusive.
        characters: length of the text that they are for, where white space of the stretch was taken out of it; places
            are then only near.

    Raises ValueError where the bytes aren't in the layout.
    """
    dimensions, tokens, _ = measures(packed)
    length = end - start if characters is None else characters
    places = struct.unpack_from(f"<{tokens}I", packed, HEADER.size)
    low, high = bisect_left(places, start), bisect_left(places, end)
    moved = [min(place - start, max(0, length - 1)) for place in places[low:high]]
    scales, codes = HEADER.size + 4 * tokens, HEADER.size + 6 * tokens
    return b"".join(
        (
            header(dimensions, high - low, length),
            struct.pack(f"<{high - low}I", *moved),
            packed[scales + 2 * low : scales + 2 * high],
            packed[codes + dimensions * low : codes + dimensions * high],
        )
    )
