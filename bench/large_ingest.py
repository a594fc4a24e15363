"""Takes much in at once: how fast is it, and is the memory bounded?

The retrieval service as it ships, over its socket, on an encoder that hashes words into 384 numbers: the figures
are those of the store and of the way in, not of a model.

stream    100,000 small documents in one stream
thin      the same with vectors of 8 numbers: what grows here too is not the index
table     a CSV table of 64 MiB, each row a document
text      one plain text of 50 MB, stored whole

--only PART[,PART] runs some of the parts, --documents N takes another number for the streams.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.common import show
from bench.common.report import Aim, Prediction, Question, Report, Table
from bench.common.run import run
from bench.common.stats import Estimate
from bench.large import content
from bench.large.watch import MIB, Held, Watched, watching
from bench.speed import children
from citemesh.client import Mesh
from citemesh.client.types import IngestProgress, Upload
from citemesh.errors import InvalidInput, PreconditionFailed

PARTS = ("stream", "thin", "table", "text")
DIMENSION, THIN = 384, 8
DOCUMENTS, DOCUMENT_WORDS, ROW_WORDS = 100_000, 40, 110
_LOOKS = 10
_START_S = 60.0
STREAM = Question("stream", "documents/s", Prediction(300, 900, "several documents share a commit"))
GROWTH = Question(
    "stream: memory that 10,000 more documents take",
    "MiB",
    Prediction(15, 40, "14.6 of vectors, some of a graph, SQLite's caches fill up to 32 MiB a connection"),
)
THIN_GROWTH = Question(
    "stream without vectors: memory that 10,000 more documents take, second half",
    "MiB",
    Prediction(0, 4, "caches that are nearly full; no leak"),
    Aim(None, 5),
)
ROWS = Question("table", "rows/s", Prediction(400, 1200, "rows share commits"))
TABLE_PEAK = Question(
    "table: memory over that before, but for vectors",
    "MiB",
    Prediction(100, 350, "64 of the table, its windows, portions on their way, SQLite's caches"),
    Aim(None, 512),
)
TEXT_S = Question("text", "s", Prediction(30, 120, "40,000 chunks in one transaction"))
TEXT_PEAK = Question(
    "text: memory over that before, but for vectors",
    "MiB",
    Prediction(300, 900, "the text, its chunks and their words at once, before they are written"),
    Aim(None, 1536),
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What to run."""

    parts: Sequence[str]
    documents: int


@dataclass(frozen=True, slots=True)
class RunningService:
    """A running service."""

    pid: int
    mesh: Mesh
    folder: Path


async def measure(report: Report, chosen: Chosen) -> None:
    """Each part in a service of its own."""
    report.setting |= {"documents": chosen.documents, "parts": list(chosen.parts), "dimension": DIMENSION}
    if "stream" in chosen.parts:
        await _stream(report, chosen.documents, DIMENSION)
    if "thin" in chosen.parts:
        await _stream(report, chosen.documents, THIN)
    if "table" in chosen.parts:
        await _table(report, report.options.pick(64, 4) * MIB)
    if "text" in chosen.parts:
        await _text(report, report.options.pick(50_000_000, 3_000_000))


async def _stream(report: Report, count: int, dimension: int) -> None:
    every, looks = max(1, count // _LOOKS), [(0, Held(0, 0, 0, 0))]
    async with _service(dimension) as service, watching(service.pid) as watched:
        looks[0] = (0, watched.look())
        done = 0
        async for last in _last(service.mesh, content.stream(count, DOCUMENT_WORDS, report.options.seed)):
            _require(last)
            done += 1
            if done % every == 0:
                looks.append((done, watched.look()))
                show.say(f"{done} documents: {looks[-1][1].own:.0f} MiB after {looks[-1][1].seconds:.0f} s")
        index = (await service.mesh.collections.get("default")).index
        disk = children.disk_bytes(service.folder) / MIB
    report.tables.append(_growth_table(f"{count} documents, vectors of {dimension} numbers", looks, dimension))
    report.notes.append(f"vectors of {dimension}: the index ended as {index}, the store takes {disk:.0f} MiB")
    seconds = looks[-1][1].seconds - looks[0][1].seconds
    if dimension == DIMENSION:
        report.answer(STREAM, _one(count / seconds))
    half = looks[len(looks) // 2 :]
    growth = (half[-1][1].own - half[0][1].own) / (half[-1][0] - half[0][0]) * 10_000
    report.answer(GROWTH if dimension == DIMENSION else THIN_GROWTH, _one(growth))


def _growth_table(title: str, looks: Sequence[tuple[int, Held]], dimension: int) -> Table:
    columns = ("documents", "s", "memory MiB", "of it vectors MiB", "the rest MiB", "files MiB", "reader MiB")
    rows = []
    for done, held in looks:
        vectors = done * dimension * 4 / MIB
        rows.append((done, held.seconds, held.own, vectors, held.own - vectors, held.files, held.children))
    return Table(title, columns, rows)


async def _table(report: Report, size_bytes: int) -> None:
    upload, rows = content.table(size_bytes, ROW_WORDS, report.options.seed)
    seconds, watched, last = await _one_upload(upload)
    if (last.rows, last.failed_rows) != (rows, 0):
        raise PreconditionFailed("BENCH_INGEST", f"{last.rows} of {rows} rows were taken in", last.error_message)
    report.answer(ROWS, _one(rows / seconds))
    report.answer(TABLE_PEAK, _one(_over(watched, last.chunks)))
    report.tables.append(_peaks("table", upload, rows, seconds, watched, last.chunks))


async def _text(report: Report, size_bytes: int) -> None:
    upload = content.text(size_bytes, report.options.seed)
    seconds, watched, last = await _one_upload(upload)
    report.answer(TEXT_S, _one(seconds))
    report.answer(TEXT_PEAK, _one(_over(watched, last.chunks)))
    report.tables.append(_peaks("text", upload, 1, seconds, watched, last.chunks))


async def _one_upload(upload: Upload) -> tuple[float, Watched, IngestProgress]:
    """Takes one in; checks that it is there whole."""
    async with _service(DIMENSION) as service, watching(service.pid) as watched:
        started = time.perf_counter()
        async for last in _last(service.mesh, [upload]):
            _require(last)
        seconds = time.perf_counter() - started
        kept = await service.mesh.collections.get("default")
    if (kept.documents, kept.chunks) != (max(1, last.rows), last.chunks):
        raise PreconditionFailed("BENCH_INGEST", f"{kept.documents} documents, {kept.chunks} chunks are kept", "")
    return seconds, watched, last


def _peaks(part: str, upload: Upload, documents: int, seconds: float, watched: Watched, chunks: int) -> Table:
    columns = (
        "MiB",
        "documents",
        "chunks",
        "s",
        "MB/s",
        "before MiB",
        "most MiB",
        "of it vectors MiB",
        "reader, most MiB",
    )
    size = len(upload.data)
    row = (size / MIB, documents, chunks, seconds, size / 1e6 / seconds, watched.moments[0].own, watched.peak,
           _vectors(chunks), watched.children_peak)  # fmt: skip
    return Table(part, columns, [row])


def _over(watched: Watched, chunks: int) -> float:
    return watched.peak - watched.moments[0].own - _vectors(chunks)


def _vectors(chunks: int) -> float:
    return chunks * DIMENSION * 4 / MIB


async def _last(mesh: Mesh, uploads: Iterable[Upload]) -> AsyncIterator[IngestProgress]:
    """Each document's last report."""
    async for progress in mesh.documents.ingest(uploads):
        if progress.state in ("committed", "unchanged", "failed"):
            yield progress


def _require(last: IngestProgress) -> None:
    if last.state != "committed":
        fault = f"{last.correlation_id}: {last.state} {last.error_message}"
        raise PreconditionFailed("BENCH_INGEST", fault, "it is new, and should be taken in")


@asynccontextmanager
async def _service(dimension: int) -> AsyncIterator[RunningService]:
    """A service on an empty store, when it answers."""
    with tempfile.TemporaryDirectory(prefix="cm-large-") as name:
        folder = Path(name)
        socket, log = folder / "r.sock", folder / "service.log"
        env = {"CITEMESH_STATE_DIR": name, "CITEMESH_RETRIEVAL_LISTEN": f"unix:{socket}"}
        async with (
            children.running("bench.large.service", [str(dimension)], env, log) as service,
            Mesh({"retrieval": f"unix:{socket}"}, timeout_s=60.0) as mesh,
        ):
            async with asyncio.timeout(_START_S):
                while not await mesh.serving("retrieval"):
                    children.require_running(service, log)
                    await asyncio.sleep(0.02)
            yield RunningService(service.pid, mesh, folder)


def _one(value: float) -> Estimate:
    return Estimate(value, value, value, 1)


def chosen_of(arguments: Sequence[str]) -> tuple[Chosen, list[str]]:
    """This bench's own arguments, and the rest. Raises InvalidInput."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--documents", type=int, default=0)
    given, rest = parser.parse_known_args(arguments)
    parts = given.only.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        raise InvalidInput("--only", f"{unknown[0]!r} is no part", f"there are {', '.join(PARTS)}")
    if given.documents < 0:
        raise InvalidInput("--documents", f"{given.documents} is no number of documents", "take 20 and up")
    return Chosen(parts, given.documents or (2000 if "--quick" in rest else DOCUMENTS)), rest


def main() -> int:
    """Runs the bench."""
    try:
        chosen, rest = chosen_of(sys.argv[1:])
    except InvalidInput as error:
        show.errors.print(f"large_ingest: {error}", style="red", markup=False)
        return 2
    asked = {
        "stream": (STREAM, GROWTH),
        "thin": (THIN_GROWTH,),
        "table": (ROWS, TABLE_PEAK),
        "text": (TEXT_S, TEXT_PEAK),
    }
    questions = [question for part in chosen.parts for question in asked[part]]
    return run("large_ingest", __doc__ or "", questions, lambda report: measure(report, chosen), rest)


if __name__ == "__main__":
    sys.exit(main())
