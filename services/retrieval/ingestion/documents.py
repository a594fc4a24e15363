"""Ingests a document that is one: cut, enriched, committed, with its progress told at each step."""

from dataclasses import replace

from services.retrieval.ingestion.commits import StreamCommits
from services.retrieval.ingestion.cutting import Cutter
from services.retrieval.ingestion.enrichment import Enricher
from services.retrieval.ingestion.read.parsed import IngestFault, Parsed
from services.retrieval.ingestion.upload import Header, Progress, Report, State
from services.retrieval.types.document import DocumentInfo


class DocumentIngestion:
    """The steps of one document after it was read."""

    def __init__(self, cutter: Cutter, enricher: Enricher) -> None:
        self._cutter = cutter
        self._enricher = enricher

    async def ingest(
        self, header: Header, info: DocumentInfo, parsed: Parsed, report: Report, commits: StreamCommits
    ) -> None:
        """Stores the document. Raises IngestFault where it can't be, CiteMeshError."""
        await report(progress(header, "parsed", info))
        (document,) = await self._cutter.cut([(info, parsed)])
        if isinstance(document, IngestFault):
            raise document
        await report(progress(header, "chunked", document.info))
        (enriched,) = await self._enricher.enrich([document])
        await report(progress(header, "embedded", document.info))
        await commits.put(enriched)
        notices = unreadable_notice(len(enriched.unreadable), len(enriched.chunks))
        await report(replace(progress(header, "committed", document.info), notices=notices))


def progress(header: Header, state: State, info: DocumentInfo) -> Progress:
    """How far a document is."""
    return Progress(header.correlation_id, state, info.document_id, info.chunks, info.characters)


def unreadable_notice(unreadable: int, chunks: int) -> tuple[str, ...]:
    """Tells a sender that the embedding model can't read some of the text; empty where it reads all."""
    if not unreadable:
        return ()
    return (
        f"{unreadable} of {chunks} chunks can't be read by the embedding model and are found by their words alone; "
        "a multilingual model reads more",
    )
