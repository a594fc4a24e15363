"""A cheap check that a safetensors file is whole.

The format is a u64 length, that many bytes of JSON giving each tensor's place in the data, then the data itself. So a
download cut short, or a text file that stands in for a large one, is found without reading the weights.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import BinaryIO

from citemesh.errors import PreconditionFailed

_HEADER_LIMIT = 100_000_000  # the format's own


def check_safetensors(path: Path) -> None:
    """Raises PreconditionFailed when `path` isn't a whole safetensors file."""
    try:
        with path.open("rb") as stream:
            expected = _expected_bytes(stream)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _broken(path, f"is not a safetensors file ({error})") from error
    size = path.stat().st_size
    if size != expected:
        raise _broken(path, f"has {size} bytes instead of {expected}")


def _expected_bytes(stream: BinaryIO) -> int:
    length = int.from_bytes(stream.read(8), "little")
    if not 2 <= length <= _HEADER_LIMIT:
        raise ValueError(f"a header of {length} bytes")
    tensors = json.loads(stream.read(length))
    tensors.pop("__metadata__", None)
    return 8 + length + max((tensor["data_offsets"][1] for tensor in tensors.values()), default=0)


def _broken(path: Path, fault: str) -> PreconditionFailed:
    return PreconditionFailed("MODEL_BROKEN", f"{path} {fault}", "fetch the file again, in full")
