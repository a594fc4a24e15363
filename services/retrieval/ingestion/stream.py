"""The stream of documents: parts come in, progress goes out, and no more is held than the budget allows.

The stream is read only as fast as its documents are worked off. A document that can't be taken has its own last
report and the rest goes on; what was committed before a caller leaves stays, the rest is not there.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from citemesh.errors import DeadlineExceeded, InvalidInput
from services.retrieval.ingestion import header as headers
from services.retrieval.ingestion.budget import Budget, Reservation
from services.retrieval.ingestion.pipeline import Pipeline, failed
from services.retrieval.ingestion.read.parsed import IngestFault
from services.retrieval.ingestion.upload import End, Header, Part, Progress, Report, Upload

_UNREAD_REPORTS = 64
_REMEMBERED_MARKS = 65_536
_Reports = asyncio.Queue[Progress | None]


class IngestionStream:
    """Runs ingest streams over one pipeline.

    Args:
        most_bytes: largest document that is taken.
        idle_s: seconds that a stream may keep an open document waiting for its next part.
    """

    def __init__(self, pipeline: Pipeline, budget: Budget, most_bytes: int, idle_s: float) -> None:
        self.pipeline = pipeline
        self.budget = budget
        self.most_bytes = most_bytes
        self.idle_s = idle_s

    async def run(self, parts: AsyncIterator[Part]) -> AsyncGenerator[Progress, None]:
        """Progress of all documents. Raises InvalidInput, DeadlineExceeded for a stream that is out of order."""
        reports: _Reports = asyncio.Queue(_UNREAD_REPORTS)
        working = asyncio.create_task(_work(_Stream(self, parts, reports.put), reports))
        try:
            while (report := await reports.get()) is not None:
                yield report
            await working
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


async def _work(stream: "_Stream", reports: _Reports) -> None:
    try:
        await stream.run()
    except Exception:
        await reports.put(None)
        raise
    await reports.put(None)


class _Stream:
    """One stream: its documents are received one after another and worked on at once."""

    def __init__(self, ingestion: IngestionStream, parts: AsyncIterator[Part], report: Report) -> None:
        self._ingestion = ingestion
        self._parts = parts
        self._report = report
        self._documents: set[asyncio.Task[None]] = set()
        self._seen: dict[int, None] = {}
        self._commits = ingestion.pipeline.commits()

    async def run(self) -> None:
        """Ends when the last document had its last report."""
        try:
            try:
                await self._receive_all()
            finally:
                if not _cancelling():
                    await asyncio.gather(*self._documents)
        finally:
            for document in self._documents:
                document.cancel()
            await asyncio.gather(*self._documents, return_exceptions=True)

    async def _receive_all(self) -> None:
        while (part := await anext(self._parts, None)) is not None:
            if not isinstance(part, Header):
                raise InvalidInput("part", "data or an end came before a header", "start a document with its header")
            try:
                await self._receive(part)
            except IngestFault as fault:
                await self._report(failed(part, fault))

    async def _receive(self, header: Header) -> None:
        try:
            self._check_mark(header)
            headers.check(header, self._ingestion.most_bytes)
            await self._ingestion.pipeline.check(header)
        except IngestFault:
            await self._skip()
            raise
        reservation = await self._ingestion.budget.take(header.size_bytes or self._ingestion.most_bytes)
        try:
            data = await self._data(header)
        except BaseException:
            reservation.give_back()
            raise
        reservation.shrink(len(data))
        self._begin(Upload(header, data), reservation)

    def _begin(self, upload: Upload, reservation: Reservation) -> None:
        document = asyncio.create_task(self._ingest(upload))
        self._documents.add(document)
        document.add_done_callback(self._documents.discard)
        document.add_done_callback(lambda _: reservation.give_back())

    async def _ingest(self, upload: Upload) -> None:
        await self._report(Progress(upload.header.correlation_id, "received", upload.header.document_id))
        await self._ingestion.pipeline.ingest(upload, self._report, self._commits)

    async def _data(self, header: Header) -> bytes:
        """All bytes of a document. Raises IngestFault when its end was read."""
        data = bytearray()
        most = header.size_bytes or self._ingestion.most_bytes
        while not isinstance(part := await self._next(), End):
            if len(data) + len(part) > most:
                await self._skip()
                raise headers.too_large(most) if not header.size_bytes else _another_size(header, "more")
            data += part
        if header.size_bytes and len(data) != header.size_bytes:
            raise _another_size(header, str(len(data)))
        return bytes(data)

    async def _skip(self) -> None:
        """Reads on to the document's end and keeps nothing."""
        while not isinstance(await self._next(), End):
            pass

    async def _next(self) -> bytes | End:
        """The next part of an open document."""
        try:
            async with asyncio.timeout(self._ingestion.idle_s):
                part = await anext(self._parts, None)
        except TimeoutError:
            raise DeadlineExceeded(f"no part of the document came for {self._ingestion.idle_s:g} s") from None
        if part is None:
            raise IngestFault("BROKEN", "the stream ended before the document's end", "send it again, with its end")
        if isinstance(part, Header):
            raise InvalidInput("header", "it came before the end of the document before", "end each document")
        return part

    def _check_mark(self, header: Header) -> None:
        """Raises IngestFault for a mark that is not new. The last ones are remembered, as hashes, and no more."""
        mark = hash(header.correlation_id)
        if mark in self._seen:
            raise IngestFault(
                "INVALID_HEADER", "correlation_id: it was used in this stream", "send a new one each time"
            )
        self._seen[mark] = None
        if len(self._seen) > _REMEMBERED_MARKS:
            del self._seen[next(iter(self._seen))]


def _another_size(header: Header, received: str) -> IngestFault:
    fault = f"size_bytes: it says {header.size_bytes}, and {received} came"
    return IngestFault("INVALID_HEADER", fault, "send the real size, or 0")


def _cancelling() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
