"""Trees to text and text to files: sorted YAML, replaced atomically."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import yaml

from citemesh.mesh.envoy.types import Json


class _PlainDumper(yaml.SafeDumper):
    """No anchors: a part used twice is written twice, and reads without looking elsewhere."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def to_yaml(tree: Json) -> str:
    """The same text for the same tree, whatever the order of its keys."""
    return yaml.dump(tree, Dumper=_PlainDumper, sort_keys=True, allow_unicode=True, width=110)


def digest(text: str) -> str:
    """Twelve hex digits of the text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def replace_file(path: Path, text: str, mode: int = 0o644) -> None:
    """Writes aside, flushes to disk, renames: readers see the old text or the new, and a watcher sees one move.

    Raises:
        OSError: the directory can't be written or the disk is full; the old file is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
