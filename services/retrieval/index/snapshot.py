"""Snapshot files: an index with the number of the last change that it holds, so that a start needs not read all.

Layout: magic, length of the header (4 bytes, little endian), header as JSON, the index as FAISS writes it. The header
names store, collection, embedding, change and the SHA-256 of the index. A file is written aside, synced and renamed.
"""

import hashlib
import json
import os
import struct
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from services.retrieval.index.vectors import VectorIndex, loaded

_MAGIC = b"CMVECS01"
_LONGEST_HEADER = 65536


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose index a snapshot is: the store's random id, the collection's row, what made the vectors."""

    store: str
    collection: int
    digest: str
    dimension: int


@dataclass(frozen=True, slots=True)
class Change:
    """The last change that a snapshot holds: its number and its random mark."""

    sequence: int
    mark: str


class BadSnapshot(Exception):
    """A snapshot can't be used: torn, foreign or of another version. The index is then built from the store."""


def write(path: Path, index: VectorIndex, origin: Origin, change: Change) -> None:
    """Writes a snapshot in place of the one before; a crash leaves one of the two."""
    body = index.dump().tobytes()
    header = json.dumps({**asdict(origin), **asdict(change), "sha256": hashlib.sha256(body).hexdigest()}).encode()
    aside = path.with_suffix(".new")
    with aside.open("wb") as file:
        file.write(_MAGIC + struct.pack("<I", len(header)) + header)
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    _sync_directory(path.parent)


def read(path: Path, origin: Origin) -> tuple[VectorIndex, Change]:
    """Reads a snapshot. Raises BadSnapshot, FileNotFoundError."""
    with path.open("rb") as file:
        header = _header(file)
        body = file.read()
    if {key: header.get(key) for key in asdict(origin)} != asdict(origin):
        raise BadSnapshot("it is of another store, collection or model")
    if hashlib.sha256(body).hexdigest() != header.get("sha256"):
        raise BadSnapshot("it is torn")
    try:
        return loaded(np.frombuffer(body, dtype=np.uint8), origin.dimension), Change(
            int(str(header["sequence"])), str(header["mark"])
        )
    except (KeyError, ValueError, RuntimeError) as error:
        raise BadSnapshot(str(error)) from error


def _header(file: BinaryIO) -> dict[str, object]:
    start = file.read(len(_MAGIC) + 4)
    if len(start) < len(_MAGIC) + 4 or not start.startswith(_MAGIC):
        raise BadSnapshot("it is torn, or of another version")
    length = struct.unpack("<I", start[len(_MAGIC) :])[0]
    try:
        header = json.loads(file.read(min(length, _LONGEST_HEADER)))
    except ValueError as error:
        raise BadSnapshot("its header is torn") from error
    if not isinstance(header, dict):
        raise BadSnapshot("its header is no object")
    return header


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
