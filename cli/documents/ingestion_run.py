"""Files into the mesh: reads, sends, and follows each document until it is stored or has failed."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from citemesh.client.mesh import Mesh
from citemesh.client.types import IngestProgress, Upload
from citemesh.contract.bounds import MOST_DOCUMENT_MIB
from citemesh.errors import Retryable
from cli.documents.walk import FoundFile

MAX_BYTES = MOST_DOCUMENT_MIB << 20
"""The retrieval service's own default; a larger file isn't even read."""
TRIES = 4
_FIRST_WAIT_S = 1.0
STATES = ("sent", "received", "parsed", "chunked", "embedded", "committed")
ENDS = frozenset({"committed", "unchanged", "failed"})


@dataclass(slots=True)
class Item:
    """A file and how far it is."""

    file: FoundFile
    size: int
    state: str = "waiting"
    """waiting, sent, or one of `IngestProgress.state`."""
    document_id: str = ""
    chunks: int = 0
    rows: int = 0
    """Documents that a table has made, a row each; 0 for a single document."""
    failed_rows: int = 0
    """Rows of a table that could not be taken in; reason, message and remedy are the first one's."""
    notices: tuple[str, ...] = ()
    reason: str = ""
    message: str = ""
    remedy: str = ""

    @property
    def faulty(self) -> bool:
        """Whether it, or a row of it, could not be taken in."""
        return self.state == "failed" or self.failed_rows > 0

    def fail(self, reason: str, message: str, remedy: str) -> None:
        """The file can't be taken in."""
        self.state = "failed"
        self._blame(reason, message, remedy)

    def take(self, report: IngestProgress) -> None:
        """What the mesh says of it."""
        self.state = report.state
        self.document_id = report.document_id or self.document_id
        self.chunks = report.chunks or self.chunks
        self.rows = report.rows or self.rows
        self.failed_rows = report.failed_rows or self.failed_rows
        self.notices = report.notices or self.notices
        if report.error_reason:
            self._blame(report.error_reason, report.error_message, report.error_remedy)

    def _blame(self, reason: str, message: str, remedy: str) -> None:
        self.reason, self.message, self.remedy = reason, message, remedy


@dataclass(slots=True)
class IngestionRun:
    """One ingestion of many files."""

    items: list[Item]
    collection: str = ""
    replace: bool = False
    """Documents are kept under an id made of their uri, so that a changed file replaces its older self."""
    changed: Callable[[Item], None] = field(default=lambda item: None)
    """Called after every change of an item."""

    @classmethod
    def of(cls, files: Sequence[FoundFile], collection: str = "", replace: bool = False) -> IngestionRun:
        """An ingestion of files found."""
        return cls([Item(file, _size(file)) for file in files], collection, replace)

    @property
    def failed(self) -> list[Item]:
        """What could not be taken in."""
        return [item for item in self.items if item.state == "failed"]

    @property
    def faulty(self) -> list[Item]:
        """What could not be taken in, or not all of it."""
        return [item for item in self.items if item.faulty]

    async def run(self, mesh: Mesh) -> None:
        """Sends everything. A stream that breaks is opened anew for what hadn't come to its end, a few times.

        Raises:
            CiteMeshError: the mesh refuses the whole stream, or stays away.
        """
        wait_s = _FIRST_WAIT_S
        for attempt in range(1, TRIES + 1):
            try:
                return await self.attempt(mesh)
            except Retryable as error:
                if attempt == TRIES:
                    raise
                await asyncio.sleep(max(wait_s, error.retry_after_s))
                wait_s *= 2
        return None

    async def attempt(self, mesh: Mesh) -> None:
        """One stream over what hasn't come to its end. Raises as `run`."""
        progress = mesh.documents.ingest(self._uploads())
        async with aclosing(progress) as reports:  # type: ignore[type-var]  # it is an async generator
            async for report in reports:
                item = self.items[int(report.correlation_id)]
                item.take(report)
                self.changed(item)
        for item in self.items:
            if item.state not in ENDS:
                item.fail("INCOMPLETE", "the mesh never said what became of it", "ingest it again")
                self.changed(item)

    async def _uploads(self) -> AsyncIterator[Upload]:
        for number, item in enumerate(self.items):
            if item.state in ENDS:
                continue
            data = await asyncio.to_thread(_read, item)
            if data is not None:
                item.state = "sent"
            self.changed(item)
            if data is not None:
                yield self._upload(str(number), item, data)

    def _upload(self, correlation_id: str, item: Item, data: bytes) -> Upload:
        uri = item.file.uri
        return Upload(correlation_id, data, self.collection, path_id(uri) if self.replace else "", uri=uri)


def path_id(uri: str) -> str:
    """The id that a document is kept under when its path names it, not its bytes."""
    return f"path-{hashlib.sha256(uri.encode()).hexdigest()[:32]}"


def _read(item: Item) -> bytes | None:
    """The file's bytes; None, with the fault set, where they can't be had."""
    if item.file.closed:
        item.fail("UNREADABLE", "the folder can't be read", "make it readable for this user")
        return None
    if item.size > MAX_BYTES:
        item.fail("TOO_LARGE", f"{item.size >> 20} MiB; {MAX_BYTES >> 20} are taken", "split the file")
        return None
    try:
        return item.file.path.read_bytes()
    except OSError as error:
        item.fail("UNREADABLE", error.strerror or str(error), "make the file readable for this user")
        return None


def _size(file: FoundFile) -> int:
    try:
        return file.path.stat().st_size
    except OSError:
        return 0
