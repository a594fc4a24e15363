"""Ingests a table: each row is a document of its own, and rows are embedded together.

A table can be sent again at any time: rows that are stored with the same bytes are passed over, and rows that the table
no longer has are deleted once the whole of it was read.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from citemesh.contract.source_types import SourceType
from services.retrieval.engine import StoredDocuments
from services.retrieval.ingestion.commits import Committer, groups
from services.retrieval.ingestion.cutting import CutDocument, Cutter
from services.retrieval.ingestion.describe import described, file_name
from services.retrieval.ingestion.documents import unreadable_notice
from services.retrieval.ingestion.enrichment import Enricher
from services.retrieval.ingestion.header import LONGEST_DOCUMENT_ID
from services.retrieval.ingestion.read.parsed import IngestFault, Parsed
from services.retrieval.ingestion.read.tables.table import TableRow, bad_row
from services.retrieval.ingestion.upload import Progress, Report, State, Upload
from services.retrieval.types.document import DocumentInfo, NewDocument

_CHUNKS_AT_ONCE = 256
_PORTIONS_AT_ONCE = 2
_REPORT_EVERY_S = 1.0
_PAGE = 1000


class TableIngestion:
    """Ingests one table.

    Args:
        table_id: what its rows' ids begin with.
        report_every_s: seconds between two reports of its progress, at least.
    """

    def __init__(
        self,
        store: StoredDocuments,
        cutter: Cutter,
        enricher: Enricher,
        committer: Committer,
        upload: Upload,
        table_id: str,
        kind: SourceType,
        report: Report,
        report_every_s: float = _REPORT_EVERY_S,
    ) -> None:
        self._store = store
        self._cutter = cutter
        self._enricher = enricher
        self._committer = committer
        self._upload = upload
        self._header = upload.header
        self._id = table_id
        self._kind = kind
        self._report = report
        self._report_every_s = report_every_s
        self._reported_at = time.monotonic()
        self._stored_hashes: dict[str, bytes] = {}
        self._row_ids: set[int] = set()
        self._pending: list[CutDocument] = []
        self._running: set[asyncio.Task[None]] = set()
        self._tally = _RowTally()

    async def ingest(self, portions: AsyncIterator[list[TableRow]]) -> None:
        """Ingests all rows. Raises IngestFault where the table as a whole can't be ingested, CiteMeshError."""
        try:
            await self._report_progress("parsed")
            await self._rows(portions)
            await self._start()
            while self._running:
                await self._one_done()
            deleted = await self._delete_missing()
            await self._report_end(deleted)
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    async def _rows(self, portions: AsyncIterator[list[TableRow]]) -> None:
        stored_read = False
        async for rows in portions:
            if not stored_read and any(row.parsed for row in rows):
                stored_read = True
                self._stored_hashes = await stored_rows(self._store, self._header.collection, self._id)
            new = [described_row for row in rows if (described_row := self._new_document(row))]
            for document in await self._cutter.cut(new):
                if isinstance(document, IngestFault):
                    self._tally.fail(document)
                else:
                    self._pending.append(document)
            if sum(len(document.chunks) for document in self._pending) >= _CHUNKS_AT_ONCE:
                await self._start()

    def _new_document(self, row: TableRow) -> tuple[DocumentInfo, Parsed] | None:
        """A row as a new document; None where it can't be one, or is stored already."""
        row = self._checked(row)
        if row.parsed is None:
            self._tally.fail(row.fault, nameless=not row.sha256)
            return None
        info = self._described(row, row.parsed)
        stored_hash = self._stored_hashes.pop(info.document_id, None)
        if stored_hash != bytes.fromhex(row.sha256):
            return info, row.parsed
        self._tally.rows += 1
        return None

    def _checked(self, row: TableRow) -> TableRow:
        """The row, or the fault of its id."""
        document_id = self._row_id(row)
        if row.parsed is None:
            self._stored_hashes.pop(document_id, None)
            return row
        if len(document_id) > LONGEST_DOCUMENT_ID or not document_id.isprintable():
            message = "its id, with the table's, is too long or not printable"
            return bad_row(row.number, "BROKEN", message, f"make it up to {LONGEST_DOCUMENT_ID} characters")
        if hash(document_id) in self._row_ids:
            return bad_row(row.number, "BROKEN", f"the id {row.row_id!r} was a row's before", "give each its own")
        self._row_ids.add(hash(document_id))
        return row

    def _row_id(self, row: TableRow) -> str:
        return f"{self._id}#{row.row_id or row.number}"

    def _described(self, row: TableRow, parsed: Parsed) -> DocumentInfo:
        table_title = self._header.title or file_name(self._header.uri) or self._id
        title = parsed.title or f"{table_title} {row.row_id or row.number}"
        header = replace(self._header, title=title, uri=parsed.uri or self._header.uri)
        info = described(Upload(header, b""), self._row_id(row), row.sha256, self._kind, parsed)
        return replace(info, size_bytes=row.size_bytes, table_id=self._id)

    async def _start(self) -> None:
        """Embeds and stores what waits while the next rows are read; waits for a free place first."""
        while len(self._running) >= _PORTIONS_AT_ONCE:
            await self._one_done()
        if self._pending:
            self._running.add(asyncio.create_task(self._store_rows(self._pending)))
            self._pending = []
        if time.monotonic() - self._reported_at >= self._report_every_s:
            await self._report_progress("embedded")

    async def _one_done(self) -> None:
        done, self._running = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()

    async def _store_rows(self, documents: Sequence[CutDocument]) -> None:
        """Rows count once their group is stored."""
        for group in groups(await self._enricher.enrich(documents)):
            await self._committer.commit(group)
            for document in group:
                self._tally.add(document)

    async def _delete_missing(self) -> int:
        """Deletes rows that are no longer in the table; none while some could not be told from others."""
        missing, tally = list(self._stored_hashes), self._tally
        if not missing or not tally.rows or tally.nameless:
            return 0
        await delete_rows(self._store, self._header.collection, missing)
        return len(missing)

    async def _report_end(self, deleted: int) -> None:
        tally = self._tally
        if not tally.rows:
            raise tally.fault or IngestFault("NO_TEXT", "the table has no rows", "send one that has some")
        notices = tally.notices()
        if self._stored_hashes and not deleted:
            notices = (*notices, f"{len(self._stored_hashes)} rows of before were kept, as some rows could not be read")
        await self._report_progress("committed" if tally.changed or deleted else "unchanged", notices)

    async def _report_progress(self, state: State, notices: tuple[str, ...] = ()) -> None:
        self._reported_at = time.monotonic()
        tally = self._tally
        await self._report(
            Progress(
                self._header.correlation_id,
                state,
                self._id,
                tally.chunks,
                tally.characters,
                tally.fault,
                tally.rows,
                tally.failed,
                notices,
            )
        )


@dataclass(slots=True)
class _RowTally:
    """What became of the rows so far. fault: of the first row that can't be ingested."""

    rows: int = 0
    changed: int = 0
    failed: int = 0
    nameless: int = 0
    chunks: int = 0
    characters: int = 0
    unreadable: int = 0
    fault: IngestFault | None = None

    def add(self, document: NewDocument) -> None:
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


async def stored_rows(store: StoredDocuments, collection: str, table_id: str) -> dict[str, bytes]:
    """SHA-256 of a table's stored rows, by document id."""
    hashes: dict[str, bytes] = {}
    after, more = "", True
    while more:
        page = await store.documents(collection, after, _PAGE, table_id)
        hashes.update((row.document_id, bytes.fromhex(row.content_sha256)) for row in page if row.table_id == table_id)
        after, more = (page[-1].document_id, len(page) == _PAGE) if page else ("", False)
    return hashes


async def delete_rows(store: StoredDocuments, collection: str, document_ids: Sequence[str]) -> None:
    """Deletes rows, a page at a time."""
    for start in range(0, len(document_ids), _PAGE):
        await store.delete(collection, document_ids[start : start + _PAGE])
