"""How fast retrieval is: against FAISS alone, with documents on their way in, and against the app that it replaces.

    index    the service over a unix socket beside FAISS alone in the bench's process, on the same vectors and the same
             index, at 10k, 100k and (without --quick, where memory allows) 1M vectors of 384. Query vectors are looked
             up, not embedded: what is measured is everything but embedding. "batch" is 64 queries in one call, and
             both sides have all cores for it. The service answers whole passages, and references (ids and scores, as
             FAISS has them).
    ingest   real pages through the real service with the real model.
    peer     Flask + ChromaDB with the same model, the same documents and the same questions, in the same run.

--only PART[,PART] runs some of the parts, --sizes N[,N] takes other sizes, --index flat|hnsw|ivf another index than the
one that a size gets. bench/speed/vectors.py says how vectors are made. The part peer needs the extra "bench".
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.common import machine, show
from bench.common.meshes import state_dir
from bench.common.report import Aim, Cell, Prediction, Question, Report, Table
from bench.common.run import run
from bench.common.stats import Estimate, difference, estimate, percentile, ratio
from bench.speed import corpora, ingesting, mesh, peer, sides, sizes
from bench.speed.growth import exponent
from bench.speed.sides import Sized
from citemesh.errors import InvalidInput
from cli.local_mesh.layout import LARGE_PAGES
from cli.local_mesh.stack import Stack

PARTS = ("index", "ingest", "peer")
_MANY = ("batch", "batch of references", "callers")
SIZES = (10_000, 100_000, 1_000_000)
PEER_GIB, INDEX_GIB_A_MILLION = 5.0, 9.0
PAGES = (364, 24)

HYDRATE = (
    "of a batch's search the service and its caller spend 0.2 to 0.35 ms beside FAISS: ten passages each are read, put"
    " into messages and parsed; FAISS takes 0.1 ms of two cores"
)
NAMED = "0.1 to 0.2 ms beside FAISS: ten ids are read, ranked, put into messages and parsed"
HOP = "a gRPC call that does nothing takes 0.5 ms; interceptors, two changes of thread, ten passages come on top"
BIG = "the graph takes 0.9 ms of two cores, so that what comes on top weighs less"
MODEL = "both wait for the same model on the same two cores; ours runs one thread a query, the peer two"
PREDICTIONS = {
    ("batch", 10_000): Prediction(0.25, 0.6, HYDRATE),
    ("batch", 100_000): Prediction(0.25, 0.65, HYDRATE),
    ("batch", 1_000_000): Prediction(0.5, 0.85, BIG),
    ("batch of references", 10_000): Prediction(0.35, 0.75, NAMED),
    ("batch of references", 100_000): Prediction(0.35, 0.75, NAMED),
    ("batch of references", 1_000_000): Prediction(0.75, 1.0, BIG),
    ("one", 10_000): Prediction(1.0, 2.0, HOP),
    ("one", 100_000): Prediction(1.0, 2.0, HOP),
    ("one", 1_000_000): Prediction(1.0, 2.5, HOP),
    ("one of references", 10_000): Prediction(0.8, 1.7, HOP),
    ("one of references", 100_000): Prediction(0.8, 1.7, HOP),
    ("one of references", 1_000_000): Prediction(0.8, 2.2, HOP),
    ("recall", 10_000): Prediction(0.999, 1.0, "exact up to 50,000"),
    ("recall", 100_000): Prediction(0.95, 1.0, "a graph with 96 candidates"),
    ("recall", 1_000_000): Prediction(0.94, 0.98, "FAISS alone with 256 and 384 candidates had .949 and .964"),
}
_FAST, _SOON = Aim(at_least=0.9), Aim(at_most=1.5)
AIMS = {"batch": _FAST, "batch of references": _FAST, "one": _SOON, "one of references": _SOON}
AIMS |= {"recall": Aim(at_least=0.95)}
NAMES = {
    "batch": ("service / FAISS alone, searches a second in batches of 64, {count} vectors", ""),
    "batch of references": ("the same of references, {count} vectors", ""),
    "one": ("added to one search beyond embedding, {count} vectors", "ms"),
    "one of references": ("the same of references, {count} vectors, one search", "ms"),
    "recall": ("recall@10 against exact, {count} vectors", ""),
}
INGEST = (
    Question("chunks a second taken in", "", Prediction(15, 45, "two workers, 256 tokens a chunk, bfloat16")),
    Question("MB a second taken in", "", Prediction(0.01, 0.05, "about a kilobyte a chunk")),
)
PEER = {
    1: Question("searches a second, CiteMesh / peer, 1 caller", "", Prediction(0.5, 1.1, MODEL)),
    8: Question(
        "searches a second, CiteMesh / peer, 8 callers", "", Prediction(1.2, 3.0, "waiting queries are batched")
    ),
    32: Question("searches a second, CiteMesh / peer, 32 callers", "", Prediction(1.3, 4.0, "as above")),
}
MEMORY = Question("memory of a million vectors more", "GiB", Prediction(1.6, 2.6, "1.43 of vectors, 0.25 of links"))


@dataclass(frozen=True, slots=True)
class Chosen:
    """What to run."""

    parts: Sequence[str]
    sizes: Sequence[int]
    kind: str = "auto"


def sized_question(kind: str, count: int) -> Question:
    """A figure of one size."""
    name, unit = NAMES[kind]
    return Question(name.format(count=f"{count:,}"), unit, PREDICTIONS.get((kind, count)), AIMS[kind])


def quality_question(name: str) -> Question:
    """How much better CiteMesh's answers are."""
    expected = Prediction(0.0, 0.12, "words count beside meaning, and a long text is cut instead of cut off")
    return Question(f"nDCG@10, CiteMesh - peer, {name}", "", expected)


async def measure(report: Report, chosen: Chosen) -> None:
    """Runs the parts."""
    if "index" in chosen.parts:
        await _index(report, chosen)
    if "ingest" in chosen.parts or "peer" in chosen.parts:
        machine.require_memory(PEER_GIB)
        with state_dir() as folder:
            async with mesh.searching_mesh(folder) as stack:
                if "ingest" in chosen.parts:
                    await _ingest(report, stack)
                if "peer" in chosen.parts:
                    await _peer(report, stack)


async def _index(report: Report, chosen: Chosen) -> None:
    rounds, counts = report.options.pick(20, 6), chosen.sizes
    report.setting |= {"index_rounds": rounds, "sizes": list(counts), "batch": sides.BATCH, "callers": sides.CALLERS}
    report.setting["index"] = chosen.kind
    found = []
    for count in counts:
        needed = 1.0 + INDEX_GIB_A_MILLION * count / 1e6
        if machine.available_gib() < needed:
            report.notes.append(f"{count:,} vectors were left out: they need {needed:.1f} GiB of memory.")
            continue
        with tempfile.TemporaryDirectory(prefix="cm-speed-") as folder:
            sized = await sizes.measure(Path(folder), count, chosen.kind, rounds, report.options.seed)
        found.append(sized)
        _tell_size(report, sized)
    _tell_sizes(report, found)
    if len(found) > 1:
        _tell_growth(report, found)


def _tell_size(report: Report, sized: Sized) -> None:
    seed = report.options.seed
    answers = {"recall": Estimate(sized.recall, sized.recall, sized.recall, 1)}
    for what in ("", " of references"):
        # A ratio of rates is the inverse of that of times.
        answers[f"batch{what}"] = ratio(sized.raw["batch"], sized.service[f"batch{what}"], seed)
        answers[f"one{what}"] = difference(sized.service[f"one{what}"], sized.raw["one"], seed).scaled(1e3)
    for kind, answer in answers.items():
        report.answer(sized_question(kind, sized.count), answer)
    if percentile(sized.raw["one thread"], 0.5) < percentile(sized.raw["batch"], 0.5):
        told = f"FAISS alone over {sized.count:,} was slower with all cores than with one: others held them, and its"
        report.notes.append(f"{told} threads wait for each other. The ratios of batches flatter the service.")


def _tell_sizes(report: Report, found: Sequence[Sized]) -> None:
    columns: Sequence[str] = ("vectors", "index", "p50 ms: FAISS", "service", "p99 ms: FAISS", "service")
    rows: list[tuple[Cell, ...]] = []
    for it in found:
        taken = (it.raw_one, it.service_one)
        times = [1e3 * percentile(one, share) for share in (0.5, 0.99) for one in taken]
        rows.append((it.count, it.index, *times))
    report.tables.append(Table("One search at a time, without embedding", columns, rows))
    columns = ("vectors", "FAISS", "by one thread", "service", "references", f"{sides.CALLERS} callers")
    rows = []
    for it in found:
        ways = (it.raw["batch"], it.raw["one thread"], *(it.service[way] for way in _MANY))
        rows.append((it.count, *(1 / percentile(one, 0.5) for one in ways)))
    report.tables.append(Table("Searches a second, in batches of 64", columns, rows))
    columns = ("vectors", "way", "FAISS alone ms", "the service ms", "its caller ms")
    rows = []
    for it in found:
        alone = 1e3 * it.worked[sides.RAW].each()[1]
        rows += [(it.count, way, alone, *(1e3 * spent for spent in it.worked[way].each())) for way in sides.WAYS]
    report.tables.append(Table("Processor time of a search", columns, rows))
    columns = ("vectors", "into the store s", "then the index s", "start s", "memory MiB", "disk MiB")
    rows = [(it.count, it.put_s, it.index_s, it.start_s, it.memory / 2**20, it.disk / 2**20) for it in found]
    report.tables.append(Table("Filling and keeping", columns, rows))


def _tell_growth(report: Report, found: Sequence[Sized]) -> None:
    counts = [it.count for it in found]
    costs: dict[str, list[float]] = {
        "p50 of one search, FAISS alone": [percentile(it.raw_one, 0.5) for it in found],
        "p50 of one search, service": [percentile(it.service_one, 0.5) for it in found],
        "a search of a batch, FAISS alone": [percentile(it.raw["batch"], 0.5) for it in found],
        "a search of a batch, service": [percentile(it.service["batch"], 0.5) for it in found],
        "putting in and indexing": [it.put_s + it.index_s for it in found],
        "start": [it.start_s for it in found],
        "memory": [it.memory for it in found],
        "disk": [it.disk for it in found],
    }
    rows = [(name, exponent(counts, values)) for name, values in costs.items()]
    report.tables.append(Table("Growth: exponent over the number of vectors", ("cost", "exponent"), rows))
    first, last = found[0], found[-1]
    gib = (last.memory - first.memory) / (last.count - first.count) * 1e6 / 2**30
    report.answer(MEMORY, Estimate(gib, gib, gib, 1))


async def _ingest(report: Report, stack: Stack) -> None:
    rounds, pages = report.options.pick(1, 1), report.options.pick(*PAGES)
    report.setting |= {"pages": pages}
    found = []
    async with mesh.outside(stack) as client:
        for at in range(rounds):
            show.say(f"{pages} pages on their way in")
            drawn = ingesting.pages(pages, report.options.seed + at)
            store = stack.options.state_dir / "store"
            found.append(await ingesting.ingest(client, drawn, f"pages{at}", store))
    seed = report.options.seed
    report.answer(INGEST[0], estimate([it.chunks / it.seconds for it in found], seed))
    report.answer(INGEST[1], estimate([it.bytes / it.seconds / 1e6 for it in found], seed))
    rows = [(it.documents, it.bytes / 1e6, it.chunks, it.seconds, it.disk / it.chunks / 1024) for it in found]
    report.tables.append(Table("Taken in", ("pages", "MB", "chunks", "seconds", "KiB of disk a chunk"), rows))


async def _peer(report: Report, stack: Stack) -> None:
    rounds = report.options.pick(8, 4)
    servers = ("waitress",) if report.options.quick else ("waitress", "flask")
    report.setting |= {"peer_rounds": rounds, "top_k": peer.TOP_K, "precision": peer.precision()}
    for judged in corpora.chosen(report.options.quick):
        async with AsyncExitStack() as open_:
            folder = Path(open_.enter_context(tempfile.TemporaryDirectory(prefix="cm-peer-")))
            client = await open_.enter_async_context(mesh.outside(stack))
            direct = await open_.enter_async_context(mesh.past_sidecar(stack))
            show.say(f"{judged.name}: {len(judged.documents)} documents into each side")
            collection = "".join(letter for letter in judged.name if letter.isalnum())
            ours = await peer.citemesh("CiteMesh", client, judged, collection)
            past = peer.Side("CiteMesh, past the sidecar", peer.asking(direct, collection), ours.ingest_s)
            theirs = await open_.enter_async_context(peer.peers(judged, folder, peer.precision(), servers))
            await peer.compare([ours, past, *theirs], judged, rounds, report.options.seed)
        _tell_peer(report, judged.name, [ours, past, *theirs])


def _tell_peer(report: Report, name: str, sides: Sequence[peer.Side]) -> None:
    ours, theirs = sides[0], sides[2]
    columns = ["side", "in s", *(f"{n}: {what}" for n in peer.CALLERS for what in ("per s", "p50 ms", "p99 ms"))]
    report.tables.append(Table(f"{name}: callers at once", columns, [side.row() for side in sides]))
    seed = report.options.seed
    for callers, question in PEER.items():
        asked = Question(f"{question.name}, {name}", question.unit, question.prediction)
        report.answer(asked, ratio(ours.per_s[callers], theirs.per_s[callers], seed))
    both = [text for text in ours.quality if text in theirs.quality]
    mine, other = [ours.quality[text] for text in both], [theirs.quality[text] for text in both]
    better = estimate([a - b for a, b in zip(mine, other, strict=True)], seed, lambda rows: sum(rows) / len(rows))
    report.answer(quality_question(name), better)
    rows = [(side.name, sum(side.quality.values()) / len(side.quality), len(side.quality)) for side in sides]
    report.tables.append(Table(f"{name}: quality", ("side", "nDCG@10", "questions"), rows))


def chosen_of(arguments: Sequence[str]) -> tuple[Chosen, list[str]]:
    """This bench's own arguments, and the rest. Raises InvalidInput."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--sizes", default="")
    parser.add_argument("--index", choices=("auto", "flat", "hnsw", "ivf"), default="auto")
    given, rest = parser.parse_known_args(arguments)
    parts = given.only.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        raise InvalidInput("--only", f"{unknown[0]!r} is no part", f"there are {', '.join(PARTS)}")
    try:
        counts = [int(text) for text in given.sizes.split(",") if text]
    except ValueError:
        raise InvalidInput("--sizes", f"{given.sizes!r} are no numbers", "write them as 10000,100000") from None
    return Chosen(parts, counts or (SIZES[:2] if "--quick" in rest else SIZES), given.index), rest


def main() -> int:
    """Runs the bench."""
    if "GLIBC_TUNABLES" not in os.environ:  # read when a program starts: FAISS here gets the service's large pages
        environment = {**os.environ, "GLIBC_TUNABLES": LARGE_PAGES}
        os.execve(sys.executable, sys.orig_argv, environment)  # noqa: S606 - this very program once more
    try:
        chosen, rest = chosen_of(sys.argv[1:])
    except InvalidInput as error:
        show.errors.print(f"retrieval_speed: {error}", style="red", markup=False)
        return 2
    questions = [sized_question(kind, n) for kind in NAMES for n in chosen.sizes] if "index" in chosen.parts else []
    questions += [MEMORY] if len(chosen.sizes) > 1 and "index" in chosen.parts else []
    questions += INGEST if "ingest" in chosen.parts else []
    questions += [*PEER.values(), quality_question("each set")] if "peer" in chosen.parts else []
    return run("retrieval_speed", __doc__ or "", questions, lambda report: measure(report, chosen), rest)


if __name__ == "__main__":
    sys.exit(main())
