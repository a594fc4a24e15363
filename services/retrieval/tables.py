"""A table's way in: each row is a document of its own, and rows are embedded together.

A table can be sent again at any time: rows that are there with the same bytes are passed over, and rows that the table
no longer has are deleted once the whole of it was read.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from citemesh.contract.source_types import SourceType
from services.retrieval.commits import PutMany, groups
from services.retrieval.engine import DocumentInfo, Engine, NewDocument
from services.retrieval.ingest.describe import described, file_name
from services.retrieval.ingest.draft import Draft
from services.retrieval.ingest.header import LONGEST_DOCUMENT_ID
from services.retrieval.ingest.parsed import IngestFault, Parsed
from services.retrieval.ingest.table import Row, bad_row
from services.retrieval.ingest.upload import Progress, Report, State, Upload
from services.retrieval.rows import delete_rows, known_rows

_CHUNKS_AT_ONCE = 256
_PORTIONS_AT_ONCE = 2
_REPORT_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Steps:
    """What is done with any document, a row or not."""

    cut: Callable[[Sequence[tuple[DocumentInfo, Parsed]]], Awaitable[list[Draft | IngestFault]]]
    enrich: Callable[[Sequence[Draft]], Awaitable[list[NewDocument]]]
    put: PutMany


class Table:
    """One table on its way in.

    Args:
        table_id: what its rows' ids begin with.
        report_every_s: seconds between two reports of its progress, at least.
    """

    def __init__(
        self,
        engine: Engine,
        steps: Steps,
        upload: Upload,
        table_id: str,
        kind: SourceType,
        report: Report,
        report_every_s: float = _REPORT_EVERY_S,
    ) -> None:
        self._engine = engine
        self._steps = steps
        self._upload = upload
        self._header = upload.header
        self._id = table_id
        self._kind = kind
        self._report = report
        self._report_every_s = report_every_s
        self._reported_at = time.monotonic()
        self._known: dict[str, bytes] = {}
        self._seen: set[int] = set()
        self._waiting: list[Draft] = []
        self._running: set[asyncio.Task[None]] = set()
        self._count = _Count()

    async def take(self, portions: AsyncIterator[list[Row]]) -> None:
        """Takes all rows in. Raises IngestFault where the table as a whole can't be, CiteMeshError."""
        try:
            await self._say("parsed")
            await self._rows(portions)
            await self._start()
            while self._running:
                await self._one_done()
            deleted = await self._delete_missing()
            await self._say_last(deleted)
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    async def _rows(self, portions: AsyncIterator[list[Row]]) -> None:
        begun = False
        async for rows in portions:
            if not begun and any(row.parsed for row in rows):
                begun = True
                self._known = await known_rows(self._engine, self._header.collection, self._id)
            new = [named for row in rows if (named := self._named(row))]
            for draft in await self._steps.cut(new):
                if isinstance(draft, IngestFault):
                    self._count.fail(draft)
                else:
                    self._waiting.append(draft)
            if sum(len(draft.chunks) for draft in self._waiting) >= _CHUNKS_AT_ONCE:
                await self._start()

    def _named(self, row: Row) -> tuple[DocumentInfo, Parsed] | None:
        """A row as a document to be; None where it can't be, or is there already."""
        row = self._checked(row)
        if row.parsed is None:
            self._count.fail(row.fault, nameless=not row.sha256)
            return None
        info = self._described(row, row.parsed)
        known = self._known.pop(info.document_id, None)
        if known != bytes.fromhex(row.sha256):
            return info, row.parsed
        self._count.rows += 1
        return None

    def _checked(self, row: Row) -> Row:
        """The row, or the fault of its id."""
        document_id = self._row_id(row)
        if row.parsed is None:
            self._known.pop(document_id, None)
            return row
        if len(document_id) > LONGEST_DOCUMENT_ID or not document_id.isprintable():
            message = "its id, with the table's, is too long or not printable"
            return bad_row(row.number, "BROKEN", message, f"make it up to {LONGEST_DOCUMENT_ID} characters")
        if hash(document_id) in self._seen:
            return bad_row(row.number, "BROKEN", f"the id {row.row_id!r} was a row's before", "give each its own")
        self._seen.add(hash(document_id))
        return row

    def _row_id(self, row: Row) -> str:
        return f"{self._id}#{row.row_id or row.number}"

    def _described(self, row: Row, parsed: Parsed) -> DocumentInfo:
        whole = self._header.title or file_name(self._header.uri) or self._id
        title = parsed.title or f"{whole} {row.row_id or row.number}"
        header = replace(self._header, title=title, uri=parsed.uri or self._header.uri)
        info = described(Upload(header, b""), self._row_id(row), row.sha256, self._kind, parsed)
        return replace(info, size_bytes=row.size_bytes, table_id=self._id)

    async def _start(self) -> None:
        """Embeds and stores what waits, while the next rows are read; waits for room first."""
        while len(self._running) >= _PORTIONS_AT_ONCE:
            await self._one_done()
        if self._waiting:
            self._running.add(asyncio.create_task(self._keep(self._waiting)))
            self._waiting = []
        if time.monotonic() - self._reported_at >= self._report_every_s:
            await self._say("embedded")

    async def _one_done(self) -> None:
        done, self._running = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()

    async def _keep(self, drafts: Sequence[Draft]) -> None:
        """Rows count once their group is stored."""
        for group in groups(await self._steps.enrich(drafts)):
            await self._steps.put(group)
            for document in group:
                self._count.keep(document)

    async def _delete_missing(self) -> int:
        """Deletes rows that are no longer in the table; none while some could not be told from others."""
        gone, count = list(self._known), self._count
        if not gone or not count.rows or count.nameless:
            return 0
        await delete_rows(self._engine, self._header.collection, gone)
        return len(gone)

    async def _say_last(self, deleted: int) -> None:
        count = self._count
        if not count.rows:
            raise count.fault or IngestFault("NO_TEXT", "the table has no rows", "send one that has some")
        notices = count.notices()
        if self._known and not deleted:
            notices = (*notices, f"{len(self._known)} rows of before were kept, as some rows could not be read")
        await self._say("committed" if count.changed or deleted else "unchanged", notices)

    async def _say(self, state: State, notices: tuple[str, ...] = ()) -> None:
        self._reported_at = time.monotonic()
        it = self._count
        await self._report(
            Progress(
                self._header.correlation_id, state, self._id, it.chunks, it.characters, it.fault, it.rows, it.failed,
                notices,
            )
        )  # fmt: skip


@dataclass(slots=True)
class _Count:
    """What became of the rows so far. fault is the first one's that can't be taken in."""

    rows: int = 0
    changed: int = 0
    failed: int = 0
    nameless: int = 0
    chunks: int = 0
    characters: int = 0
    unreadable: int = 0
    fault: IngestFault | None = None

    def keep(self, document: NewDocument) -> None:
        self.rows += 1
        self.changed += 1
        self.chunks += len(document.chunks)
        self.characters += len(document.text)
        self.unreadable += len(document.unreadable)

    def fail(self, fault: IngestFault | None, nameless: bool = False) -> None:
        self.failed += 1
        self.nameless += nameless
        self.fault = self.fault or fault

    def notices(self) -> tuple[str, ...]:
        return unreadable_notice(self.unreadable, self.chunks)


def unreadable_notice(unreadable: int, chunks: int) -> tuple[str, ...]:
    """What a sender should know where the embedding model can't read some of the text."""
    if not unreadable:
        return ()
    return (
        f"{unreadable} of {chunks} chunks can't be read by the embedding model and are found by their words alone; "
        "a multilingual model reads more",
    )
