"""Snapshot files: an index with the number of the last change that it holds, so that a start need not read all vectors.

Layout: magic, length of the header (4 bytes, little endian), header as JSON in 4096 bytes in all, the index as FAISS
writes it. The header names store, collection, embedding, change, kind and the SHA-256 of the index. A file is written
under another name, synced and renamed. An index is written in parts, so that it is not copied in memory.
"""

import hashlib
import json
import os
import struct
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import faiss

from services.retrieval.engines.durable.index.kinds import IndexChoice
from services.retrieval.engines.durable.index.segment import Segment

_faiss: Any = faiss  # its stub lacks callbacks
_MAGIC = b"CMVECS02"
_HEADER = 4096
_PART = 1 << 20


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a snapshot comes from: the store's random id, the collection's row, the embedding of its vectors."""

    store: str
    collection: int
    digest: str
    dimension: int


@dataclass(frozen=True, slots=True)
class Change:
    """The last change that a snapshot may hold: its number and its random mark."""

    sequence: int
    mark: str


class BadSnapshot(Exception):
    """A snapshot can't be used: torn, foreign or of another version. The index is then built from the store."""


def write(path: Path, segment: Segment, origin: Origin, change: Change) -> None:
    """Writes a snapshot in place of the one before; a crash leaves one of the two. Raises OSError."""
    unfinished = path.with_suffix(".new")
    try:
        _write(unfinished, segment, origin, change)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _write(path: Path, segment: Segment, origin: Origin, change: Change) -> None:
    with path.open("wb") as file:
        file.write(bytes(_HEADER))
        sha256 = _write_index(file, segment.index)
        header = {**asdict(origin), **asdict(change), "kind": segment.name, "sha256": sha256}
        file.seek(0)
        file.write(_framed(json.dumps(header).encode()))
        file.flush()
        os.fsync(file.fileno())


def read(path: Path, origin: Origin, choice: IndexChoice) -> tuple[Segment, Change]:
    """Reads a snapshot. Raises BadSnapshot, FileNotFoundError."""
    with path.open("rb") as file:
        header = _header(file)
        if {key: header.get(key) for key in asdict(origin)} != asdict(origin):
            raise BadSnapshot("it is of another store, collection or model")
        if _sha256(file) != header.get("sha256"):
            raise BadSnapshot("it is torn")
        try:
            segment = _segment(file, str(header["kind"]), origin.dimension, choice)
            return segment, Change(int(str(header["sequence"])), str(header["mark"]))
        except (KeyError, ValueError, RuntimeError) as error:
            raise BadSnapshot(str(error)) from error


def _write_index(file: BinaryIO, index: faiss.Index) -> str:
    digest, failed = hashlib.sha256(), list[OSError]()

    def part(data: bytes) -> int:
        digest.update(data)
        try:
            return file.write(data)
        except OSError as error:
            failed.append(error)
            return 0

    try:
        _faiss.write_index(index, _faiss.PyCallbackIOWriter(part, _PART))
    except RuntimeError:
        raise failed[0] if failed else OSError("FAISS could not write the index") from None
    return digest.hexdigest()


def _sha256(file: BinaryIO) -> str:
    file.seek(_HEADER)
    digest = hashlib.sha256()
    while part := file.read(_PART):
        digest.update(part)
    return digest.hexdigest()


def _segment(file: BinaryIO, kind: str, dimension: int, choice: IndexChoice) -> Segment:
    file.seek(_HEADER)
    index = _faiss.read_index(_faiss.PyCallbackIOReader(file.read, _PART))
    if not isinstance(index, faiss.IndexIDMap2) or index.d != dimension:
        raise ValueError(f"not an index of {dimension} dimensions")
    return Segment(kind, index, choice)


def _framed(header: bytes) -> bytes:
    return (_MAGIC + struct.pack("<I", len(header)) + header).ljust(_HEADER, b" ")


def _header(file: BinaryIO) -> dict[str, object]:
    start = file.read(len(_MAGIC) + 4)
    if len(start) < len(_MAGIC) + 4 or not start.startswith(_MAGIC):
        raise BadSnapshot("it is torn, or of another version")
    length = min(struct.unpack("<I", start[len(_MAGIC) :])[0], _HEADER - len(start))
    try:
        header = json.loads(file.read(length))
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
