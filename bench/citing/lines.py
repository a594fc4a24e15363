"""Values by key, in memory and one a line in a file: what a run that was ended has done already."""

import hashlib
import json
from pathlib import Path
from typing import Any


class Lines:
    """A dictionary that outlives its process.

    Args:
        path: the file; None keeps nothing behind.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        text = path.read_text(encoding="utf-8") if path and path.exists() else ""
        whole, _, broken = text.rpartition("\n")
        if path and broken:  # the run before was ended while it wrote
            path.write_text(whole and f"{whole}\n", encoding="utf-8")
        self._known: dict[str, Any] = dict(map(json.loads, filter(None, whole.split("\n"))))

    def get(self, key: str) -> Any:
        """The value, or None."""
        return self._known.get(key)

    def put(self, key: str, value: Any) -> None:
        """Keeps a value; it must be one that JSON knows, and not None."""
        self._known[key] = value
        if self._path:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, value], ensure_ascii=False) + "\n")


def digest(*parts: object) -> str:
    """A key of what decides a value."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()
