"""Documents of a mesh, in memory: takes in what the intake sends, and can be away."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Self

from citemesh.client.types import IngestProgress, Upload
from citemesh.errors import CiteMeshError

WAIT_S = 20.0


class FakeDocuments:
    """A mesh, its documents client and the store behind it, all in one."""

    def __init__(self) -> None:
        self.documents = self
        self.stored: dict[str, Upload] = {}
        self.taken: list[str] = []
        """Uris in the order in which they were taken in, once each time."""
        self.fault: CiteMeshError | None = None
        """Raised by every call while it is set."""
        self.calls = 0
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Nothing is open."""

    def __call__(self) -> Self:
        """Stands for connecting."""
        return self

    async def ingest(self, uploads: AsyncIterator[Upload]) -> AsyncIterator[IngestProgress]:
        """Stores each upload; one that says "broken" fails."""
        self._refuse()
        async for upload in uploads:
            yield self._progress(upload, "received")
            self._refuse()
            if upload.data == b"broken":
                yield self._progress(upload, "failed", "BROKEN")
            else:
                self.stored[upload.document_id] = upload
                self.taken.append(upload.uri)
                yield self._progress(upload, "committed")
            self._changed.set()

    async def delete(
        self, document_ids: Sequence[str], collection: str = ""
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Deletes what is there."""
        self._refuse()
        gone = tuple(one for one in document_ids if self.stored.pop(one, None))
        self._changed.set()
        return gone, tuple(one for one in document_ids if one not in gone)

    @property
    def texts(self) -> dict[str, bytes]:
        """What is stored, by uri."""
        return {upload.uri: upload.data for upload in self.stored.values()}

    async def until(self, true: Callable[[], bool]) -> None:
        """Waits until something is true of what is stored. Raises TimeoutError."""
        async with asyncio.timeout(WAIT_S):
            while not true():
                self._changed.clear()
                await self._changed.wait()

    def _refuse(self) -> None:
        self.calls += 1
        self._changed.set()
        if self.fault is not None:
            raise self.fault

    def _progress(self, upload: Upload, state: str, reason: str = "") -> IngestProgress:
        return IngestProgress(upload.correlation_id, upload.document_id, state, 1, 10, reason, reason and "why")
