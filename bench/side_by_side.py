"""Answers of CiteMesh beside those of a plain single-process pipeline of Haystack, in one run.

The same paragraphs and questions (XQuAD in English, HotpotQA and MuSiQue), the same embedding model, the same language
model on the same engine, three sources a prompt, greedy decoding. CiteMesh is the whole mesh behind its sidecars, asked
through the gateway with a key. The peer (bench/peers/haystack_rag.py) is asked over HTTP. Each question is asked of
all before the next, in an order drawn anew, one at a time. The peer is there twice: with as many threads as CiteMesh's
model writes with, and with as many as there are cores; each figure of time compares with the one that is faster in it.

    first, total   seconds to the first text and to the end; ratios of the same questions
    read, search   of the first: from the prompt's way to the model to its first token, and all that isn't that
    prompt, cores  tokens of the whole prompt, and processor time a second that a side took until its first text
    recall@10      share of a question's evidence among the first ten documents
    precision      share of the citations that are evidence: all, and at sentences that state a right answer only. The
                   peer's citations are the markers that its prompt asks for

`--keep DIR` keeps the mesh's store, so that documents are embedded once.
"""

import asyncio
import json
import random
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import aiohttp

from bench.citing import told
from bench.citing.answers import states
from bench.citing.told import One
from bench.citing.ways import claims_of
from bench.common import cpu, meshes, show
from bench.common.args import keep
from bench.common.machine import require_memory
from bench.common.report import Aim, Cell, Prediction, Question, Report, Table
from bench.common.run import run, shuffled
from bench.common.stats import median, ratio
from bench.reranking import data
from bench.retrieving.mesh_services import fill
from bench.retrieving.sets import Document, JudgedSet, multihop, xquad
from bench.speed import children
from bench.speed.corpora import text_of
from citemesh.client import Mesh, types
from citemesh.client.types import CitationEvent, DeltaEvent, DoneEvent
from citemesh.cpu import usable_cores
from citemesh.errors import PreconditionFailed
from citemesh.kit.settings import load
from citemesh.models import prepare
from cli.local_mesh.layout import StackOptions
from cli.local_mesh.ports import why_taken
from cli.local_mesh.stack import Stack
from gateway.settings import GatewaySettings
from services.generation.settings import GenerationSettings
from services.retrieval.settings import RetrievalSettings

MEMORY_GIB = 10.0
DEPTH = 10
ASKED = 24
"""Passages asked of CiteMesh, whose documents are cut in passages: enough for ten documents."""
START_S = 300.0
DONE = DoneEvent("", "", types.Usage(), (), {}, "", "")
"""Of an answer that has not ended."""
PORTS = range(20180, 20280)
HOPS = "Envoy, five services and a second search, against one process; the model reads as much on either side"
FIGURES = {
    "first": Question("first text: CiteMesh / Haystack", "", Prediction(0.9, 1.6, HOPS), Aim(at_most=1.0)),
    "total": Question("whole answer: CiteMesh / Haystack", "", Prediction(0.8, 1.5, HOPS), Aim(at_most=1.0)),
    "recall": Question(
        "recall@10: CiteMesh - Haystack",
        "",
        Prediction(0.02, 0.12, "words beside vectors, and hops"),
        Aim(at_least=0.0),
    ),
    "precision": Question(
        "citation precision: CiteMesh - Haystack", "", Prediction(0.2, 0.8, "checked, not believed"), Aim(at_least=0.0)
    ),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its right answers, and the documents that are its evidence."""

    set: str
    text: str
    answers: tuple[str, ...]
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Got:
    """What one side answered: seconds, tokens (deltas), documents found, and each sentence with what it cites.

    Attributes:
        checks_s: seconds that checks of sentences took, beside the writing or after it.
        prompt: tokens that the model was given.
        read_s: seconds from there to the model's first token.
        cpu_s: processor time of all of the side's processes until the first text.
    """

    first_s: float
    total_s: float
    tokens: int
    found: Sequence[str]
    sentences: Sequence[tuple[str, tuple[str, ...]]]
    checks_s: float = 0.0
    prompt: int = 0
    read_s: float = 0.0
    cpu_s: float = 0.0

    def recall(self, asked: Asked) -> float:
        """Share of the evidence among the first ten documents."""
        return len(asked.evidence & set(self.found[:DEPTH])) / len(asked.evidence)

    def ones(self, asked: Asked, stating: bool) -> list[One]:
        """Each sentence's citations, and how many of them are evidence."""
        return [
            One(len(cited), sum(one in asked.evidence for one in cited))
            for text, cited in self.sentences
            if not stating or states(text, asked.answers)
        ]


Ask = Callable[[Asked], Coroutine[Any, Any, Got]]


class Spent:
    """Processor time that processes take from a moment on."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids, self._began = pids, 0.0

    def begin(self) -> None:
        """The moment."""
        self._began = cpu.cpu_s(self._pids)

    def seconds(self) -> float:
        """What they took since."""
        return cpu.cpu_s(self._pids) - self._began


def pids_of(mesh: Stack) -> list[int]:
    """All processes of a mesh."""
    return [pid for started in mesh.pids().values() for pid in cpu.tree(started)]


class Bench:
    """Measures.

    Args:
        keep: directory for the mesh's store, or None.
    """

    def __init__(self, keep: Path | None) -> None:
        self._keep = keep

    async def measure(self, report: Report) -> None:
        """Starts all sides and asks."""
        require_memory(MEMORY_GIB)
        corpus, asked = drawn(report)
        report.setting |= {"documents": len(corpus.documents), "questions": len(asked)}
        report.setting |= {"threads of CiteMesh's model": load(GenerationSettings).threads}
        async with AsyncExitStack() as stack:
            state = stack.enter_context(meshes.state_dir())
            mesh = await stack.enter_async_context(meshes.bench_mesh(StackOptions(state_dir=self._keep or state)))
            client = await stack.enter_async_context(mesh.client(600.0))
            collection, seconds = await fill(client, corpus)
            show.say(f"CiteMesh has the documents ({seconds:.0f} s); starting the peer")
            sides: dict[str, Ask] = {"CiteMesh": citemesh(client, collection, Spent(pids_of(mesh)))}
            for threads in {load(GenerationSettings).threads, usable_cores()}:
                peer = haystack(corpus, state / f"peer{threads}", threads)
                sides[f"Haystack, {threads} threads"] = await stack.enter_async_context(peer)
            answers = await ask(sides, asked, report.options.seed)
            tell(report, asked[1:], {name: each[1:] for name, each in answers.items()})


def drawn(report: Report) -> tuple[JudgedSet, list[Asked]]:
    """One corpus of both sets, and questions of each in turn; the first one is to warm up."""
    chance, pick = random.Random(report.options.seed), report.options.pick
    single, several = of_xquad(), of_multihop()
    many = pick(40, 8)
    asked = chance.sample(single, many + 1) + chance.sample(several, many)
    wanted = frozenset[str]().union(*(one.evidence for one in asked))
    corpora = (xquad("en").documents, multihop().documents)
    beside = {it.id for each in corpora for it in chance.sample(each, min(len(each), pick(600, 100)))}
    documents = [it for each in corpora for it in each if it.id in wanted | beside]
    return JudgedSet("beside", "en", documents, []), asked


def of_xquad() -> list[Asked]:
    """Questions that one paragraph answers."""
    source = data.xquad("en")
    return [Asked("xquad-en", it.question, (it.answer,), frozenset((f"p{it.paragraph}",))) for it in source.asked]


def of_multihop() -> list[Asked]:
    """Questions that need several paragraphs."""
    folder = data.folder() / "multihop"
    read = [json.loads((folder / f"{name}_train.json").read_text(encoding="utf-8")) for name in ("hotpotqa", "musique")]
    answers = {item["question"]: item["answer"] for items in read for item in items}
    return [Asked("multihop", it.text, (answers[it.text],), it.relevant) for it in multihop().queries]


async def ask(sides: dict[str, Ask], asked: Sequence[Asked], seed: int) -> dict[str, list[Got]]:
    """Asks every question of every side."""
    found: dict[str, list[Got]] = {name: [] for name in sides}
    with show.progress("questions", len(asked)) as step:
        for one, order in zip(asked, shuffled(len(asked), list(sides), seed), strict=True):
            for name in order:
                found[name].append(await sides[name](one))
            step()
    return found


def citemesh(mesh: Mesh, collection: str, spent: Spent) -> Ask:
    """The mesh, asked through its ingress."""

    async def one(asked: Asked) -> Got:
        spent.begin()
        started, first_s, cpu_s, text, done = time.perf_counter(), 0.0, 0.0, "", DONE
        cited: list[CitationEvent] = []
        question = types.Question(asked.text, collection, skip_cache=True)
        async with aclosing(mesh.query.ask(question, START_S)) as events:  # type: ignore[type-var]  # an async generator
            async for event in events:
                if isinstance(event, DeltaEvent):
                    first_s = first_s or time.perf_counter() - started
                    cpu_s = cpu_s or spent.seconds()
                    text += event.text
                elif isinstance(event, CitationEvent):
                    cited.append(event)
                elif isinstance(event, DoneEvent):
                    done = event
        total_s = time.perf_counter() - started
        found = await mesh.query.search(asked.text, collection, ASKED)
        sentences = [
            (text[one.sentence.start : one.sentence.end], tuple(dict.fromkeys(it.document_id for it in one.citations)))
            for one in cited
        ]
        documents = list(dict.fromkeys(it.document_id for it in found))
        checks_s, read_s = (done.timings.get(name, 0.0) / 1000 for name in ("cite", "first_token"))
        used = done.usage
        times = (checks_s, used.prompt_tokens, read_s, cpu_s)
        return Got(first_s, total_s, used.completion_tokens, documents, sentences, *times)

    return one


def haystack_words(corpus: JudgedSet, folder: Path, port: int, threads: int) -> list[str]:
    """The peer's arguments: the models and bounds that CiteMesh has, and its corpus written out."""
    folder.mkdir(parents=True)
    limits, retrieval, generation = load(GatewaySettings).limits, load(RetrievalSettings), load(GenerationSettings)
    embedding = prepare(retrieval.embedding_model, retrieval.models_dir.expanduser()).directory
    model = prepare(generation.model, generation.models_dir.expanduser()).directory
    words = [str(embedding), str(model), str(_written(corpus.documents, folder)), "--port", str(port)]
    words += ["--sources", str(limits.sources), "--max-tokens", str(limits.answer_tokens), "--threads", str(threads)]
    return [*words, "--repetition-penalty", str(limits.repetition_penalty)]


@asynccontextmanager
async def haystack(corpus: JudgedSet, folder: Path, threads: int) -> AsyncIterator[Ask]:
    """The peer with the documents, asked over HTTP by one kept connection."""
    port = next(number for number in PORTS if not why_taken(number))
    words = await asyncio.to_thread(haystack_words, corpus, folder, port, threads)
    log, url = folder / "peer.log", f"http://127.0.0.1:{port}"
    # Set before it starts: a math library that some import has loaded reads no change.
    env = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
    async with (
        children.running("bench.peers.haystack_rag", words, env, log) as process,
        aiohttp.ClientSession() as http,
    ):
        async with asyncio.timeout(START_S):
            while not await _answers(http, f"{url}/healthz"):
                children.require_running(process, log)
                await asyncio.sleep(0.1)
        yield asking(http, f"{url}/ask", log, Spent(cpu.tree(process.pid)))


def asking(http: aiohttp.ClientSession, url: str, log: Path, spent: Spent) -> Ask:
    """Asks the peer, and reads its markers as what it cites."""

    async def one(asked: Asked) -> Got:
        spent.begin()
        started, first_s, cpu_s, text, last = time.perf_counter(), 0.0, 0.0, "", {}
        async with http.post(url, json={"question": asked.text}) as response:
            response.raise_for_status()
            async for line in response.content:
                last = json.loads(line)
                if "text" in last:
                    first_s = first_s or time.perf_counter() - started
                    cpu_s = cpu_s or spent.seconds()
                    text += last["text"]
        if not last.get("documents"):
            raise PreconditionFailed("BENCH_PEER", "the pipeline broke off", f"see {log}")
        sources = last["sources"]
        sentences = [
            (claim.sentence.text, tuple(sources[n - 1] if n <= len(sources) else "" for n in sorted(claim.hints) if n))
            for claim in claims_of(text)
        ]
        times = (0.0, last["prompt_tokens"], last["read_s"], cpu_s)
        return Got(first_s, time.perf_counter() - started, last["tokens"], last["documents"], sentences, *times)

    return one


def _written(documents: Sequence[Document], folder: Path) -> Path:
    lines = [json.dumps({"id": it.id, "text": text_of(it), "metadata": {"title": it.title}}) for it in documents]
    (folder / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder / "corpus.jsonl"


async def _answers(http: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with http.get(url) as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False


def tell(report: Report, asked: Sequence[Asked], answers: dict[str, list[Got]]) -> None:
    """Adds tables and figures."""
    timed = ("first s", "search s", "read s", "prompt", "cores", "total s", "tokens", "ms a token")
    cited = ("sentences", "cited", "precision", "stating", "precision", "recall")
    columns = ("set", "side", "questions", *timed, "recall@10", *cited)
    rows: list[list[Cell]] = []
    for drawn_of in dict.fromkeys(one.set for one in asked):
        at = [number for number, one in enumerate(asked) if one.set == drawn_of]
        for side, each in answers.items():
            rows.append([drawn_of, side, *_row([asked[n] for n in at], [each[n] for n in at])])
    report.tables.append(Table("Each set", columns, rows))
    ours, seed = answers["CiteMesh"], report.options.seed
    peers = {name: each for name, each in answers.items() if name != "CiteMesh"}
    _tell_time(report, "first", ours, peers, lambda got: got.first_s)
    theirs = _tell_time(report, "total", ours, peers, lambda got: got.total_s)
    recalls = [[it.recall(one) for one, it in zip(asked, each, strict=True)] for each in (ours, theirs)]
    checks = 100 * sum(it.checks_s for it in ours) / sum(it.total_s for it in ours)
    report.notes.append(f"checks of sentences took {checks:.1f} % of CiteMesh's answers, most of it beside the writing")
    pairs = [(one, other) for one, other in zip(*recalls, strict=True)]
    report.answer(
        FIGURES["recall"],
        told.apart_by(pairs, lambda drawn: fmean(a for a, _ in drawn) - fmean(b for _, b in drawn), seed),
    )
    both = [(it.ones(one, False), other.ones(one, False)) for one, it, other in zip(asked, ours, theirs, strict=True)]
    report.answer(FIGURES["precision"], told.apart_by(both, _precision_apart, seed))


def _tell_time(
    report: Report, figure: str, ours: Sequence[Got], peers: dict[str, list[Got]], seconds: Callable[[Got], float]
) -> list[Got]:
    """A figure of time, beside the peer that is faster in it; answers that peer's."""
    fastest = min(peers, key=lambda name: median([seconds(got) for got in peers[name]]))
    for name, each in peers.items():
        found = ratio([seconds(got) for got in ours], [seconds(got) for got in each], report.options.seed)
        report.notes.append(f"{figure}: {found.value:.2f} ({found.low:.2f} … {found.high:.2f}) of {name}")
        if name == fastest:
            report.answer(FIGURES[figure], found)
    return peers[fastest]


def _precision_apart(drawn: Sequence[tuple[list[One], list[One]]]) -> float:
    ours, theirs = [[one for pair in drawn for one in pair[side]] for side in (0, 1)]
    return told.precision(ours) - told.precision(theirs)


def _row(asked: Sequence[Asked], each: Sequence[Got]) -> list[Cell]:
    pairs = list(zip(asked, each, strict=True))
    every, stating = [[one for it, got in pairs for one in got.ones(it, only)] for only in (False, True)]
    recall = fmean(got.recall(it) for it, got in pairs)
    firsts, reads = [got.first_s for got in each], [got.read_s for got in each]
    times = [median(firsts), median([first - read for first, read in zip(firsts, reads, strict=True)]), median(reads)]
    times += [fmean(got.prompt for got in each), sum(got.cpu_s for got in each) / sum(firsts)]
    times += [median([got.total_s for got in each])]
    tokens = sum(got.tokens for got in each)
    times += [tokens / len(each), 1000 * sum(got.total_s - got.first_s for got in each) / max(1, tokens)]
    said = [len(every), told.supported(every), told.precision(every)]
    return [len(pairs), *times, recall, *said, len(stating), told.precision(stating), told.recall(stating)]


def main() -> int:
    """Runs the bench; `--keep DIR` beside what benches share."""
    kept, rest = keep()
    return run("side_by_side", __doc__ or "", list(FIGURES.values()), Bench(kept).measure, rest)


if __name__ == "__main__":
    sys.exit(main())
