"""What late interaction adds to the order of search: nDCG@10 on English and Chinese paragraphs, multi-hop questions and
scientific claims.

Candidates are the best 50 of BM25 and dense vectors, half and half by min-max scores, as retrieval makes them. They are
put in order by the engine as it ships, over token vectors as retrieval stores them, alone and blended with the
retrieval score; by the same with every token counting alike; over passages that are read anew; and with six of the
model's layers.
"""

import copy
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.common import show
from bench.common.report import Cell, Prediction, Question, Report, Table
from bench.common.run import run
from bench.common.stats import difference
from bench.reranking import data
from bench.reranking.dense import dense
from bench.reranking.search import Floats, bm25, ndcg, spread
from bench.reranking.stored import Stored, Storing
from bench.retrieving import sets
from citemesh.kit.settings import load
from citemesh.models import prepare
from services.reranker.blend import rank
from services.reranker.engine import CandidatePassage
from services.reranker.engines.late_interaction import LateInteractionEngine
from services.reranker.settings import RerankerSettings

DEPTH = 50
BLEND = Question(
    "blend - search alone, all sets", "nDCG@10", Prediction(0.0, 0.02, "near the ceiling on so few documents")
)
STORED = Question(
    "stored - read anew, blended, all sets", "nDCG@10", Prediction(-0.003, 0.003, "one byte a dimension is enough")
)
LAYERS = Question(
    "stored - six layers read anew, blended, all sets",
    "nDCG@10",
    Prediction(-0.002, 0.006, "all layers did better alone, and blended about as well"),
)
WEIGHTS = Question(
    "weighted - unweighted, MaxSim alone, all sets", "nDCG@10", Prediction(0.0, 0.02, "rare words tell passages apart")
)
Order = list[int]


@dataclass(frozen=True, slots=True)
class Task:
    """Texts and queries with the numbers of the texts that answer them."""

    name: str
    texts: list[str]
    queries: list[tuple[str, frozenset[int]]]


async def measure(report: Report) -> None:
    """Runs every task."""
    settings = load(RerankerSettings)
    report.setting |= {"layers": settings.layers, "blend_weight": settings.weight, "depth": DEPTH}
    model = prepare(settings.model, settings.models_dir)
    ways, storing = _ways(settings), Storing(model)
    found: dict[str, list[float]] = {}
    rows: list[list[Cell]] = []
    for task in _tasks(report):
        show.say(f"{task.name}: {len(task.texts)} texts, {len(task.queries)} queries")
        queries = [query for query, _ in task.queries]
        similar = dense(model, queries, model.query_prefix) @ dense(model, task.texts, model.passage_prefix).T
        fused = np.asarray((spread(bm25(task.texts, queries)) + spread(similar)) / 2, np.float32)
        gains = _gains(task, fused, ways, settings.weight, storing(task.texts))
        rows.append([task.name, len(task.texts), len(task.queries), *(float(np.mean(gain)) for gain in gains.values())])
        for name, gain in gains.items():
            found.setdefault(name, []).extend(gain)
    report.tables.append(Table("nDCG@10", ("set", "texts", "queries", *found), rows))
    seed = report.options.seed
    report.answer(BLEND, difference(found["blend"], _lifted(found["search"]), seed, _mean))
    report.answer(STORED, difference(found["blend"], _lifted(found["read anew, blend"]), seed, _mean))
    report.answer(LAYERS, difference(found["blend"], _lifted(found["six layers, blend"]), seed, _mean))
    report.answer(WEIGHTS, difference(found["alone"], _lifted(found["unweighted"]), seed, _mean))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _lifted(values: Sequence[float]) -> list[float]:
    """A gain of 0 is a fair result, and differences want a base above 0."""
    return [max(value, 1e-9) for value in values]


def _ways(settings: RerankerSettings) -> dict[str, LateInteractionEngine]:
    """The engine as it ships, with every token counting alike, reading all anew, and with six layers."""

    def made(layers: int) -> LateInteractionEngine:
        engine = LateInteractionEngine(lambda: prepare(settings.model, settings.models_dir), layers=layers)
        engine.load()
        return engine

    shipped = made(settings.layers)
    flat = copy.copy(shipped)  # shares model and cache
    flat._weights = np.ones_like(shipped._weights)
    return {"": shipped, "unweighted": flat, "read anew": shipped, "six layers": made(6)}


def _tasks(report: Report) -> list[Task]:
    chance = random.Random(report.options.seed)
    texts, queries = report.options.pick(160, 60), report.options.pick(200, 40)
    return [
        _paragraphs("XQuAD en", data.xquad("en"), texts, queries, chance),
        _paragraphs("XQuAD zh", data.xquad("zh"), texts, queries, chance),
        _hops(texts * 4, queries, chance),
        _claims(data.scifact(), report.options.pick(300, 80), report.options.pick(150, 40), chance),
    ]


def _paragraphs(name: str, source: data.Paragraphs, texts: int, queries: int, chance: random.Random) -> Task:
    asked = [asked for asked in source.asked if asked.paragraph < texts]
    drawn = chance.sample(asked, min(queries, len(asked)))
    return Task(name, source.texts[:texts], [(one.question, frozenset({one.paragraph})) for one in drawn])


def _hops(texts: int, queries: int, chance: random.Random) -> Task:
    """Multi-hop questions over their paragraphs and as many others as there is room for."""
    source = sets.multihop()
    drawn = chance.sample(source.queries, min(queries, len(source.queries)))
    wanted = {id for asked in drawn for id in asked.relevant}
    kept = [document for document in source.documents if document.id in wanted]
    others = [document for document in source.documents if document.id not in wanted]
    kept += chance.sample(others, min(len(others), max(0, texts - len(kept))))
    number = {document.id: n for n, document in enumerate(kept)}
    asked = [(it.text, frozenset(number[id] for id in it.relevant)) for it in drawn]
    return Task("multihop", [document.text for document in kept], asked)


def _claims(source: data.SciFact, texts: int, queries: int, chance: random.Random) -> Task:
    relevant: dict[str, set[int]] = {}
    for claim in source.claims:
        if claim.label:
            relevant.setdefault(claim.text, set()).add(claim.document)
    drawn = chance.sample(sorted(relevant), queries)
    kept = sorted({document for claim in drawn for document in relevant[claim]})
    rest = sorted(set(source.abstracts) - set(kept))
    kept += chance.sample(rest, max(0, texts - len(kept)))
    number = {document: n for n, document in enumerate(kept)}
    named = [(claim, frozenset(number[document] for document in relevant[claim])) for claim in drawn]
    return Task("SciFact", [source.text(document) for document in kept], named)


def _gains(
    task: Task, fused: Floats, ways: dict[str, LateInteractionEngine], weight: float, stored: Stored
) -> dict[str, list[float]]:
    """nDCG of each query, by way."""
    found: dict[str, list[float]] = {}
    with show.progress(task.name, len(task.queries)) as step:
        for (query, relevant), scores in zip(task.queries, fused, strict=True):
            best = np.argsort(-scores, kind="stable")[:DEPTH]
            orders = {"search": [int(number) for number in best]}
            for name, engine in ways.items():
                candidates = [
                    CandidatePassage(str(n), task.texts[n], float(scores[n]), stored.get(task.texts[n])) for n in best
                ]
                came = name in ("", "unweighted")
                orders |= _orders(name, engine, query, candidates, weight, came)
            for name, order in orders.items():
                found.setdefault(name, []).append(ndcg(order, relevant))
            step()
    return found


def _orders(
    name: str, engine: LateInteractionEngine, query: str, candidates: list[CandidatePassage], weight: float, came: bool
) -> dict[str, Order]:
    """Orders by the engine alone and blended; `came`: it is given the stored vectors."""
    vectors = [candidate.vectors for candidate in candidates] if came else ()
    judged = engine.relevance(query, [candidate.text for candidate in candidates], lambda: True, vectors)
    alone, blend = (name, f"{name}, blend") if name else ("alone", "blend")
    return {
        alone: [int(one.id) for one in rank(candidates, judged, 1.0, 0)],
        blend: [int(one.id) for one in rank(candidates, judged, weight, 0)],
    }


if __name__ == "__main__":
    sys.exit(run("rerank_quality", __doc__ or "", [BLEND, STORED, LAYERS, WEIGHTS], measure))
