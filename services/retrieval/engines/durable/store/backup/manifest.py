"""What a copy of a store says of itself: a JSON file beside the database, written last."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from citemesh.errors import DataLoss

FORMAT = 1
NAME = "manifest.json"
DATABASE = "store.db"


@dataclass(frozen=True, slots=True)
class CopyContents:
    """A collection in a copy."""

    name: str
    model: str
    dimension: int
    documents: int
    chunks: int
    unreadable: int


@dataclass(frozen=True, slots=True)
class CopyManifest:
    """A copy: its schema, the last change that it holds, its collections, size and hash of the database file."""

    schema: int
    sequence: int
    mark: str
    created_at: str
    collections: tuple[CopyContents, ...]
    size: int
    sha256: str

    @property
    def documents(self) -> int:
        """Of all collections."""
        return sum(held.documents for held in self.collections)

    @property
    def chunks(self) -> int:
        """Of all collections."""
        return sum(held.chunks for held in self.collections)


def write(directory: Path, manifest: CopyManifest) -> None:
    """Writes it, onto the disk."""
    with (directory / NAME).open("w", encoding="utf-8") as file:
        json.dump({"format": FORMAT, **asdict(manifest)}, file, ensure_ascii=False, indent=2)
        file.flush()
        os.fsync(file.fileno())


def read(directory: Path) -> CopyManifest:
    """Reads it. Raises DataLoss where there is none, or none that this program reads."""
    path = directory / NAME
    try:
        found = json.loads(path.read_bytes())
        if found.pop("format") != FORMAT:
            raise DataLoss(f"{path} is of another format than {FORMAT}", "restore it with the CiteMesh that made it")
        return CopyManifest(**{**found, "collections": tuple(CopyContents(**held) for held in found["collections"])})
    except OSError as error:
        raise DataLoss(f"{path} can't be read: {error.strerror}", "name a directory that Snapshot made") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DataLoss(f"{path} is torn, or no manifest", "take another copy") from None


def sync(path: Path) -> None:
    """Brings a file or a directory onto the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
