"""Manifests of copies of a store: a JSON file beside the database, written last."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from citemesh.errors import DataLoss

FORMAT = 1
NAME = "manifest.json"
DATABASE = "store.db"


@dataclass(frozen=True, slots=True)
class CopiedCollection:
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
    collections: tuple[CopiedCollection, ...]
    size: int
    sha256: str

    @property
    def documents(self) -> int:
        """Documents of all collections."""
        return sum(collection.documents for collection in self.collections)

    @property
    def chunks(self) -> int:
        """Chunks of all collections."""
        return sum(collection.chunks for collection in self.collections)


def write(directory: Path, manifest: CopyManifest) -> None:
    """Writes a manifest and syncs it."""
    with (directory / NAME).open("w", encoding="utf-8") as file:
        json.dump({"format": FORMAT, **asdict(manifest)}, file, ensure_ascii=False, indent=2)
        file.flush()
        os.fsync(file.fileno())


def read(directory: Path) -> CopyManifest:
    """Reads a manifest. Raises DataLoss where there is none that this program can read."""
    path = directory / NAME
    try:
        fields = json.loads(path.read_bytes())
        if fields.pop("format") != FORMAT:
            raise DataLoss(f"{path} is of another format than {FORMAT}", "restore it with the CiteMesh that made it")
        collections = tuple(CopiedCollection(**collection) for collection in fields["collections"])
        return CopyManifest(**{**fields, "collections": collections})
    except OSError as error:
        raise DataLoss(f"{path} can't be read: {error.strerror}", "name a directory that Snapshot made") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DataLoss(f"{path} is torn, or no manifest", "take another copy") from None


def sync(path: Path) -> None:
    """Makes the disk keep what was written to a file or a directory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
