"""How fast documents are taken in: real pages, the real service, the real model."""

import os
import random
import time
from dataclasses import dataclass
from pathlib import Path

from bench.common.corpus import ROOT
from bench.speed.children import disk_bytes
from citemesh.client import Mesh
from citemesh.client.types import Upload
from citemesh.errors import PreconditionFailed


@dataclass(frozen=True, slots=True)
class Ingested:
    """One ingestion; what the store took on the disk more, in bytes."""

    documents: int
    bytes: int
    chunks: int
    seconds: float
    disk: int


def pages(most: int, seed: int) -> list[Path]:
    """Markdown pages of the evaluation data, English and Chinese, drawn by the seed; else the project's own."""
    data = Path(os.environ.get("CITEMESH_EVAL_DATA") or ROOT.parent / "shared" / "data") / "apisix-docs"
    found = sorted(data.rglob("*.md")) or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return random.Random(seed).sample(found, min(most, len(found)))


async def ingest(mesh: Mesh, paths: list[Path], collection: str, store: Path) -> Ingested:
    """Takes pages into a new collection in one stream. Raises PreconditionFailed where one fails."""
    before = disk_bytes(store)
    await mesh.collections.create(collection)
    uploads = [
        Upload(str(at), path.read_bytes(), collection, uri=path.name, media_type="text/markdown")
        for at, path in enumerate(paths)
    ]
    chunks, started = 0, time.perf_counter()
    async for report in mesh.documents.ingest(uploads):
        if report.state == "failed" and report.error_reason not in ("EMPTY", "NO_TEXT"):
            raise PreconditionFailed("BENCH_INGEST", f"{paths[int(report.correlation_id)]}: {report.error_message}", "")
        chunks += report.chunks if report.state == "committed" else 0
    seconds = time.perf_counter() - started
    size = sum(len(it.data) for it in uploads)
    return Ingested(len(uploads), size, chunks, seconds, disk_bytes(store) - before)
