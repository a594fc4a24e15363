"""Does searching on find more? Evidence recall of each planner against a single search, through the real services.

Multi-hop questions (HotpotQA and MuSiQue) must gain; single-hop questions (XQuAD, English) must not lose, nor take more
than 1.2 times as long. So must Chinese ones; for their multi-hop questions two small sets by hand stand in, since no
public one is at hand. Each question is asked of every planner in an order drawn by chance. Beside it: follow-ups made
of MuSiQue's steps, where the second step says "it" for what the first one found; searched as they stand, made
stand-alone by the gateway's rules, and with the right name put in.

`--sets` and `--systems` choose, and with `--keep DIR` a run takes up where another one left the store; the systems that
plan by the language model are run only where they are named, and start the real one. "single, all sent" is a single
search whose passages and vectors are sent to a reranker that doesn't say whether it has a use for them; "single, not
cited" is one as Search makes it, of which no answer is made.

`--json FILE` writes {"sets": {set: {system: {"ndcg@10", "mrr@10", "recall@10", "recall@100", "ms_per_query"}}}}.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.common import show
from bench.common.args import SEED
from bench.common.machine import machine
from bench.common.report import Cell, Table
from bench.hopping.follow_ups import follow_ups, form
from bench.hopping.systems import BASE, BY_MODEL, SYSTEMS, System, gather, structured_of, system
from bench.retrieving import judge, mesh_services
from bench.retrieving.chinese import CASES, LATER, hops
from bench.retrieving.judge import Judged
from bench.retrieving.mesh_services import Answers
from bench.retrieving.sets import SETS, Asked, JudgedSet
from citemesh.client import Mesh
from citemesh.client.types import Question
from citemesh.errors import CiteMeshError
from gateway.query.plan.rewriting import ModelRewriter, Rewriter, RuleRewriter

SINGLE_HOP, MULTI_HOP, CHINESE, CHINESE_HOPS, LATER_HOPS = (
    "xquad-en",
    "multihop",
    "xquad-zh",
    "hops-zh",
    "hops-zh-later",
)
SINGLE_QUERIES, QUICK_QUERIES, QUICK_DOCUMENTS = 200, 25, 120
SLOWER = 1.2
Found = dict[str, dict[str, Judged]]
USUAL = SYSTEMS[:2]
FOLLOW_UPS = "follow-ups"
CHOICE = (MULTI_HOP, FOLLOW_UPS, SINGLE_HOP, CHINESE, CHINESE_HOPS, LATER_HOPS)


@dataclass(frozen=True, slots=True)
class Options:
    """What to run."""

    quick: bool
    seed: int
    json: Path | None
    keep: Path | None
    sets: tuple[str, ...] = CHOICE[:4]
    systems: tuple[str, ...] = USUAL
    queries: int = 0
    """Most of each set; 0: as many as are usual."""


async def measure(options: Options) -> Found:
    """Asks everything; answers what was found by set and system."""
    found: Found = {}
    async with mesh_services.services(options.keep, writes=not set(BY_MODEL).isdisjoint(options.systems)) as mesh:
        systems = {name: system(name, mesh) for name in options.systems}
        for name in [name for name in options.sets if name != FOLLOW_UPS]:
            chance = random.Random(options.seed)
            judged = chosen(_set(name), _most(name, options), options.quick, chance)
            collection, seconds = await mesh_services.fill(mesh, judged)
            show.say(f"{name}: {len(judged.documents)} documents ({seconds:.0f} s)")
            found[name] = await planned(systems, collection, judged.queries, chance)
            report(judged, found[name], options.seed)
        if FOLLOW_UPS in options.sets and not options.quick:
            collection, _ = await mesh_services.fill(mesh, SETS[MULTI_HOP]())
            found[FOLLOW_UPS] = await followed(mesh, collection, options)
    return found


def _set(name: str) -> JudgedSet:
    """A set by its name."""
    by_hand = {CHINESE_HOPS: CASES, LATER_HOPS: LATER}
    return hops(name, by_hand[name], SETS[CHINESE]()) if name in by_hand else SETS[name]()


def _most(name: str, options: Options) -> int:
    if options.quick:
        return QUICK_QUERIES
    return options.queries or (SINGLE_QUERIES if name == SINGLE_HOP else 1000)


def chosen(judged: JudgedSet, most: int, quick: bool, chance: random.Random) -> JudgedSet:
    """At most so many queries; for a quick look, their own documents and a few others."""
    queries = chance.sample(judged.queries, min(most, len(judged.queries)))
    documents = judged.documents
    if quick:
        wanted = set().union(*(asked.relevant for asked in queries))
        others = {it.id for it in chance.sample(documents, min(QUICK_DOCUMENTS, len(documents)))}
        documents = [it for it in documents if it.id in wanted | others]
    return replace(judged, documents=documents, queries=queries)


async def planned(
    systems: Mapping[str, System], collection: str, asked: Sequence[Asked], chance: random.Random
) -> dict[str, Judged]:
    """Every planner's rankings of every question."""
    answers = {name: Answers() for name in systems}
    on = dict.fromkeys(systems, 0)
    for one in systems.values():
        await gather(one, Question("A first question, so that all is warm?", collection))
    with show.progress(f"{collection}: search", len(asked)) as step:
        for one_asked in asked:
            for name in chance.sample(list(systems), len(systems)):
                started = time.perf_counter()
                ids, searches = await gather(systems[name], Question(one_asked.text, collection))
                answers[name].add(ids, ids, time.perf_counter() - started)
                on[name] += searches > 1
            step()
    show.say("searched on: " + ", ".join(f"{name} {count / len(asked):.0%}" for name, count in on.items()))
    return {name: _judged(asked, each) for name, each in answers.items()}


async def followed(mesh: Mesh, collection: str, options: Options) -> dict[str, Judged]:
    """Follow-ups, searched in three forms, and in one more where the language model was asked for."""
    pairs = follow_ups()[: options.queries or None]
    single = system(BASE, mesh)
    ways: dict[str, Rewriter | None] = {"as asked": None, "stand-alone": RuleRewriter(), "right name": None}
    if not set(BY_MODEL).isdisjoint(options.systems):
        ways["by model"] = ModelRewriter(structured_of(mesh))
    answers = {name: Answers() for name in ways}
    others = 0
    for one in pairs:
        for name, way in ways.items():
            started = time.perf_counter()
            text = await form(one, way) if way else one.meant if name == "right name" else one.asked
            ids, _ = await gather(single, Question(text, collection))
            answers[name].add(ids, ids, time.perf_counter() - started)
            others += name == "by model" and text != await form(one, RuleRewriter())
    if "by model" in ways:
        show.say(f"the model's own wording counted for {others} of {len(pairs)}")
    asked = [Asked(one.meant, frozenset((one.document,))) for one in pairs]
    judged = {name: _judged(asked, each) for name, each in answers.items()}
    report(JudgedSet(FOLLOW_UPS, "en", [], asked), judged, options.seed)
    return judged


def _judged(asked: Sequence[Asked], answers: Answers) -> Judged:
    return judge.judged(asked, answers.shallow, answers.deep, mesh_services.milliseconds(answers))


def report(judged: JudgedSet, systems: dict[str, Judged], seed: int) -> None:
    """Prints a set's table: each system against the first."""
    held = np.array([asked.held_out for asked in judged.queries])
    base = next(iter(systems.values()))
    rows: list[list[Cell]] = []
    for name, each in systems.items():
        low, high = judge.interval(each.values["recall@10"], seed)
        p = judge.chance_of_difference(each.values["recall@10"], base.values["recall@10"], seed)
        spread = f"{each.mean('recall@10'):.3f} ({low:.3f} … {high:.3f})"
        times = each.ms.mean() / base.ms.mean()
        others = [f"{each.mean('recall@10', held):.3f}", f"{each.mean('ndcg@10'):.3f}", f"{each.mean('mrr@10'):.3f}"]
        rows.append([name, spread, *others, f"{p:.4f}", f"{each.ms.mean():.0f}", f"{times:.2f}"])
    columns = ("system", "Recall@10 (95 %)", "held-out half", "nDCG@10", "MRR@10", "p", "ms", "times the first")
    show.grid(Table(f"{judged.name}: {len(judged.queries)} questions", columns, rows))


def unmet(found: Found, system: str) -> list[str]:
    """What was promised of a planner and isn't so."""
    multi, single = found.get(MULTI_HOP, {}), found.get(SINGLE_HOP, {})
    missed: list[str] = []
    if not {BASE, system} <= multi.keys() & single.keys():
        return missed
    if multi[system].mean("recall@10") <= multi[BASE].mean("recall@10"):
        missed.append(f"{system}: no gain on multi-hop questions")
    if judge.interval(single[system].values["recall@10"] - single[BASE].values["recall@10"], SEED)[1] < 0:
        missed.append(f"{system}: single-hop questions lose")
    if (times := single[system].ms.mean() / single[BASE].ms.mean()) > SLOWER:
        missed.append(f"{system}: single-hop questions take {times:.2f} times as long")
    return missed


def options(arguments: Sequence[str] | None = None) -> Options:
    """Reads the command line; ends the process with a message where it is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few questions: a look, not a figure to quote")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here, as JSON")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the store there, so that sets are embedded once")
    parser.add_argument("--sets", nargs="+", choices=CHOICE, default=CHOICE[:4], metavar="SET", help=", ".join(CHOICE))
    parser.add_argument(
        "--systems", nargs="+", choices=SYSTEMS, default=USUAL, metavar="SYSTEM", help="; ".join(SYSTEMS)
    )
    parser.add_argument("--queries", type=int, default=0, metavar="N", help="most questions of each set")
    parser.add_argument("--seed", type=int, default=SEED, help="of samples, orders and resampling (%(default)s)")
    given = parser.parse_args(arguments)
    if given.json and not given.json.absolute().parent.is_dir():
        parser.error(f"--json: {given.json.parent} is no directory; make it first")
    sets, systems = tuple(given.sets), tuple(given.systems)
    return Options(given.quick, given.seed, given.json, given.keep, sets, systems, max(0, given.queries))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures; returns the exit status, which is 1 where it can't and 0 whatever it finds."""
    given = options(arguments)
    try:
        found = asyncio.run(measure(given))
    except CiteMeshError as error:
        show.errors.print(f"multihop: {error}", style="red", markup=False)
        return 1
    for line in [] if given.quick else unmet(found, "bridge, 2 hops"):
        show.out.print(f"- MISSED {line}", markup=False)
    show.out.print(machine().line(), style="dim", markup=False)
    if given.json:
        rows = {name: {system: each.row() for system, each in systems.items()} for name, systems in found.items()}
        given.json.write_text(json.dumps({"sets": rows}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
