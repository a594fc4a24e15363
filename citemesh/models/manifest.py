"""manifest.json of a prepared directory: what it was made from, and the size and SHA-256 of every file in it.

A manifest is written last, into a directory that is renamed into place afterwards; a directory without a good one is
not a model. The cheap check compares sizes (and, for files linked from elsewhere, modification times); the full one
reads every byte.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from citemesh.models.prepared import Facts, Kind, Pooling

VERSION = 1
FILE_NAME = "manifest.json"


@dataclass(frozen=True)
class FileRecord:
    """One file: its length, SHA-256 in hex, and for a link the target's modification time in ns (else 0)."""

    bytes: int
    sha256: str
    mtime_ns: int


@dataclass(frozen=True)
class Manifest:
    """What a prepared directory holds.

    Attributes:
        reference: the canonical reference it was prepared from.
        source: the distribution and version, directory or hub revision behind it.
        source_sha256: SHA-256 of the source's weights, as Facts.digest is formed.
        facts: what the model is.
        files: path inside the directory, forward slashes, to record.
    """

    reference: str
    source: str
    source_sha256: str
    facts: Facts
    files: dict[str, FileRecord]


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file's bytes in lower-case hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest_of(weights: dict[str, str]) -> str:
    """Returns one digest for weight files given as name to SHA-256 (see Facts.digest)."""
    if len(weights) == 1:
        return next(iter(weights.values()))
    lines = "".join(f"{sha256}  {name}\n" for name, sha256 in sorted(weights.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def record_files(directory: Path) -> dict[str, FileRecord]:
    """Record every file below `directory`, reading each once."""
    paths = sorted(path for path in directory.rglob("*") if path.is_file() and path.name != FILE_NAME)
    return {path.relative_to(directory).as_posix(): _record(path) for path in paths}


def _record(path: Path) -> FileRecord:
    status = path.stat()
    return FileRecord(status.st_size, sha256_of(path), status.st_mtime_ns if path.is_symlink() else 0)


def write(manifest: Manifest, directory: Path) -> None:
    """Writes the manifest into `directory`."""
    content = {"version": VERSION, **asdict(manifest)}
    text = json.dumps(content, indent=2, ensure_ascii=False, default=lambda member: member.value)
    (directory / FILE_NAME).write_text(text + "\n", encoding="utf-8")


def read(directory: Path) -> Manifest | None:
    """Reads the manifest of `directory`; None when there is none, or it is torn or of another version."""
    try:
        content = json.loads((directory / FILE_NAME).read_text(encoding="utf-8"))
        return _parsed(content) if content.get("version") == VERSION else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _parsed(content: dict[str, Any]) -> Manifest:
    facts = dict(content["facts"])
    facts["kind"] = Kind(facts["kind"])
    facts["pooling"] = Pooling(facts["pooling"])
    files = {name: FileRecord(**record) for name, record in content["files"].items()}
    return Manifest(content["reference"], content["source"], content["source_sha256"], Facts(**facts), files)


def fault_of(manifest: Manifest, directory: Path, full: bool) -> str | None:
    """Name the first file that is not as recorded, or return None; `full` compares bytes, not only sizes."""
    for name, record in manifest.files.items():
        fault = _file_fault(directory / name, record, full)
        if fault:
            return f"{name} {fault}"
    return None


def _file_fault(path: Path, record: FileRecord, full: bool) -> str | None:
    try:
        status = path.stat()
        if status.st_size != record.bytes:
            return f"has {status.st_size} bytes instead of {record.bytes}"
        if record.mtime_ns and status.st_mtime_ns != record.mtime_ns:
            return "was modified"
        if full and sha256_of(path) != record.sha256:
            return "has other bytes of the same length"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None
