"""How well search finds: nDCG@10, MRR@10 and recall on public sets, through the real services.

Systems: lexical (BM25), dense (vectors), hybrid (both, as the service fuses them), rerank (the first 50 of hybrid in
the reranker's order) and default (the gateway's Search as it ships, near-duplicates folded). A document counts by its
best passage. Queries are asked one at a time.

`--json FILE` writes {"sets": {set: {system: {"ndcg@10", "mrr@10", "recall@10", "recall@100", "ms_per_query"}}}}.
"""

import argparse
import asyncio
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.common import show
from bench.common.args import SEED
from bench.common.machine import machine
from bench.common.report import Cell, Table
from bench.retrieving import chart, judge, mesh_services
from bench.retrieving.judge import METRICS, Judged
from bench.retrieving.sets import SETS, JudgedSet
from citemesh.errors import CiteMeshError

XQUAD_QUERIES = 400
QUICK_QUERIES, QUICK_DOCUMENTS = 25, 120
COMPARED = (("hybrid", "lexical"), ("hybrid", "dense"), ("default", "hybrid"), ("rerank", "hybrid"))
BARS = {"scifact": 0.73, "multihop": 0.74}


@dataclass(frozen=True, slots=True)
class Options:
    """What to run."""

    quick: bool
    sets: tuple[str, ...]
    systems: tuple[str, ...]
    most: int
    seed: int
    json: Path | None
    chart: Path | None
    keep: Path | None


Found = dict[str, dict[str, Judged]]


async def measure(options: Options) -> Found:
    """Ingests and asks each set; answers what was found by set and system."""
    found: Found = {}
    async with mesh_services.services(options.keep) as mesh:
        for name in options.sets:
            judged = chosen(SETS[name](), options)
            collection, seconds = await mesh_services.fill(mesh, judged)
            show.say(f"{name}: {len(judged.documents)} documents ({seconds:.0f} s), {len(judged.queries)} queries")
            answers = await mesh_services.ask(mesh, collection, judged.queries, name, options.systems)
            found[name] = {
                system: judge.judged(judged.queries, each.shallow, each.deep, mesh_services.milliseconds(each))
                for system, each in answers.items()
            }
            report(judged, found[name], options.seed)
            write(found, options)  # after each set, since the next may end the run
    return found


def write(found: Found, options: Options) -> None:
    """The files that were asked for, of the sets that are done."""
    if options.json:
        options.json.write_text(json.dumps(as_json(found), indent=1) + "\n", encoding="utf-8")
    if options.chart:
        options.chart.write_text(drawn(found, options.seed), encoding="utf-8")


def chosen(judged: JudgedSet, options: Options) -> JudgedSet:
    """The queries to ask: all, of XQuAD a part; with --quick few queries and documents."""
    chance = random.Random(options.seed)
    most = QUICK_QUERIES if options.quick else XQUAD_QUERIES if judged.name.startswith("xquad") else len(judged.queries)
    queries = chance.sample(judged.queries, min(most, options.most, len(judged.queries)))
    documents = judged.documents
    if options.quick:
        wanted = set().union(*(asked.relevant for asked in queries))
        others = {it.id for it in chance.sample(documents, min(QUICK_DOCUMENTS, len(documents)))}
        documents = [it for it in documents if it.id in wanted | others]
    return replace(judged, documents=documents, queries=queries)


def report(judged: JudgedSet, systems: dict[str, Judged], seed: int) -> None:
    """Prints a set's tables."""
    held = np.array([asked.held_out for asked in judged.queries])
    rows: list[list[Cell]] = []
    for name, each in systems.items():
        low, high = judge.interval(each.values["ndcg@10"], seed)
        spread = f"{each.mean('ndcg@10'):.3f} ({low:.3f} … {high:.3f})"
        others = [f"{each.mean(metric):.3f}" for metric in METRICS if metric != "ndcg@10"]
        rows.append([name, spread, f"{each.mean('ndcg@10', held):.3f}", *others, f"{each.ms.mean():.0f}"])
    columns = ("system", "nDCG@10 (95 %)", "held-out half", "MRR@10", "Recall@10", "Recall@100", "ms a query")
    show.grid(Table(f"{judged.name}: {len(judged.documents)} documents, {len(judged.queries)} queries", columns, rows))
    show.grid(Table("Differences of nDCG@10", ("better?", "difference", "p"), _differences(systems, seed)))


def _differences(systems: dict[str, Judged], seed: int) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for one, other in (pair for pair in COMPARED if set(pair) <= set(systems)):
        left, right = systems[one].values["ndcg@10"], systems[other].values["ndcg@10"]
        p = judge.chance_of_difference(left, right, seed)
        rows.append([f"{one} - {other}", f"{(left - right).mean():+.4f}", f"{p:.4f}"])
    return rows


def as_json(found: Found) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """The form of --json."""
    return {"sets": {name: {system: each.row() for system, each in systems.items()} for name, systems in found.items()}}


def drawn(found: Found, seed: int) -> str:
    """The chart of nDCG@10."""
    groups = {
        name: {
            system: (each.mean("ndcg@10"), *judge.interval(each.values["ndcg@10"], seed))
            for system, each in systems.items()
        }
        for name, systems in found.items()
    }
    return chart.bars("nDCG@10 by set and system, with 95 % intervals", groups, 0.6)


def unmet(found: Found) -> list[str]:
    """The bars that a run over whole sets misses."""
    missed = []
    for name, systems in found.items():
        if not {"lexical", "dense", "default"} <= set(systems):
            continue
        hybrid, best = (
            systems["default"].mean("ndcg@10"),
            max(systems[it].mean("ndcg@10") for it in ("lexical", "dense")),
        )
        if hybrid < BARS.get(name, best):
            missed.append(f"{name}: default has nDCG@10 {hybrid:.3f}, the bar is {BARS.get(name, best):.3f}")
    return missed


def options(arguments: Sequence[str] | None = None) -> Options:
    """Reads the command line; ends the process with a message where it is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few documents and queries: a look, not a figure to quote")
    parser.add_argument("--sets", default=",".join(SETS), help="which sets, with commas between (%(default)s)")
    parser.add_argument("--systems", default=",".join(mesh_services.SYSTEMS), help="which systems (%(default)s)")
    parser.add_argument("--queries", type=int, default=10_000, metavar="N", help="at most so many queries a set")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here, as JSON")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="also draw nDCG@10 here, as SVG")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the store there, so that sets are embedded once")
    parser.add_argument("--seed", type=int, default=SEED, help="of samples and resampling (%(default)s)")
    given = parser.parse_args(arguments)
    names = tuple(given.sets.split(","))
    if unknown := set(names) - set(SETS):
        parser.error(f"--sets: there is no {', '.join(sorted(unknown))}; use some of {', '.join(SETS)}")
    systems = tuple(given.systems.split(","))
    if unknown := set(systems) - set(mesh_services.SYSTEMS):
        parser.error(
            f"--systems: there is no {', '.join(sorted(unknown))}; use some of {', '.join(mesh_services.SYSTEMS)}"
        )
    if given.queries < 2:
        parser.error("--queries: take 2 or more")
    for option in ("json", "chart"):
        path = getattr(given, option)
        if path and not path.absolute().parent.is_dir():
            parser.error(f"--{option}: {path.parent} is no directory; make it first")
    return Options(given.quick, names, systems, given.queries, given.seed, given.json, given.chart, given.keep)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures; returns the exit status, which is 1 where it can't and 0 whatever it finds."""
    given = options(arguments)
    try:
        found = asyncio.run(measure(given))
    except KeyboardInterrupt:
        show.errors.print("retrieval_quality: ended before it was done; with --keep the store goes on", style="red")
        return 130
    except CiteMeshError as error:
        show.errors.print(f"retrieval_quality: {error}", style="red", markup=False)
        return 1
    for line in [] if given.quick else unmet(found):
        show.out.print(f"- MISSED {line}", markup=False)
    show.out.print(machine().line(), style="dim", markup=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
