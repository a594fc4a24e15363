"""How right citations are: the model's markers alone, the check alone, and both as the gateway ships them.

Beside them the check with two citations a sentence, to tell what the second one is worth.

What is right comes from labels, never from the check itself (docs/quality.md tells the measures):

    sentences  made of QED, SciFact and XQuAD (English, Chinese), each packed with its own passage and the two of other
               documents that search ranks highest. A marker is what the model writes behind the given sentence.
    answers    that the model writes over real search, with the prompt as it ships, with one that asks for markers, and
               with one whose decoder is held to markers that exist. Judged at sentences that state a right answer.
    cost       share of an answer's time that checks take, from the steps that the gateway reports.

`--keep DIR` keeps the store and what the model wrote there: a run that was ended goes on. The report is written after
each part, to DIR/report.json where `--json` names no other file. The services are real ones, behind their sidecars.
"""

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path

from bench.citing import cost, labelled, told
from bench.citing.answers import HELD, PROMPTS, Answerer, Line, Prompt
from bench.citing.labelled import Labelled
from bench.citing.lines import Lines, digest
from bench.citing.model import Kept
from bench.citing.sentences import Citer, Judged
from bench.citing.ways import WAYS, cited_of
from bench.common import show
from bench.common.args import keep
from bench.common.meshes import bench_mesh, insider, state_dir
from bench.common.report import Aim, Prediction, Question, Report, Table
from bench.common.run import run
from bench.common.stats import Estimate, estimate
from bench.retrieving.mesh_services import fill
from citemesh.kit.settings import load
from cli.local_mesh.layout import StackOptions
from cli.local_mesh.stack import Stack
from gateway.query.ports import Upstreams
from gateway.settings import GatewaySettings

SMALL = "a model of 135M parameters marks little better than chance among three sources"
FOOLED = "a second passage that says nearly the same is cited too"
FIGURES = {
    "markers": Question("sentences: precision, markers alone", "", Prediction(0.35, 0.6, SMALL)),
    "check": Question("sentences: precision, check alone", "", Prediction(0.8, 0.95, FOOLED)),
    "both": Question("sentences: precision, both", "", Prediction(0.8, 0.95, FOOLED)),
    "recall": Question("sentences: recall, both", "", Prediction(0.8, 0.93, "claims in other words are missed")),
    "over markers": Question("sentences: precision, both less markers", "", Prediction(0.25, 0.55, SMALL)),
    "over check": Question("sentences: precision, both less check", "", Prediction(-0.01, 0.01, "markers only add")),
    "false": Question(
        "false sentences that are cited, both", "", Prediction(0.1, 0.3, "other answers fool it at times")
    ),
    "answers": Question("answers: precision, both", "", Prediction(0.8, 0.97, "they quote, and quotes are found")),
    "answers recall": Question("answers: recall, both", "", Prediction(0.85, 0.98, "they quote, and quotes are found")),
    "share": Question(
        "checks / answer's time",
        "",
        Prediction(0.01, 0.08, "vectors are stored; one batch a sentence"),
        Aim(at_most=0.1),
    ),
    "after": Question("wait after the last text / answer's time", "", Prediction(0.01, 0.06, "one check is left")),
}
SENTENCES = {"xquad-zh": 20}
"""Fewer than of the others: the default model reads 2,300 tokens for three Chinese passages."""


class Bench:
    """Measures.

    Args:
        keep: directory for the store and the model's texts, or None.
    """

    def __init__(self, keep: Path | None) -> None:
        self._keep = keep

    def _lines(self, name: str) -> Lines:
        return Lines(self._keep / f"{name}.jsonl" if self._keep else None)

    async def measure(self, report: Report) -> None:
        """Starts the mesh, ingests, cites and asks."""
        sets = _sets(report)
        async with (
            _mesh(self._keep) as stack,
            stack.client(600.0) as client,
            insider(stack, "gateway", 600.0) as inside,
        ):
            services = Upstreams(inside.tokenizer, inside.retrieval, inside.generation, inside.reranker)
            written, done = (self._lines(name) for name in ("written", "judged"))
            model = Kept(services.generation, (await services.generation.list())[0], written)
            report.setting |= {"model": model.model.name, "documents": {it.name: len(it.documents) for it in sets}}
            names = {one.name: (await fill(client, one.judged()))[0] for one in sets}
            judged = [await _sentences(services, model, names[one.name], one, done, report) for one in sets]
            _tell_sentences(report, sets, judged)
            await asyncio.to_thread(_save, report)
            for prompt in (*PROMPTS, HELD):
                _tell_answers(report, prompt, await _answers(services, model, names, sets, prompt))
                await asyncio.to_thread(_save, report)
            timed = next(one for one in sets if one.name == "xquad-en")
            questions = [one.question for one in timed.asked][: report.options.pick(25, 6)]
            show.say("asking through the ingress")
            _tell_cost(report, await cost.spent(client.query, names[timed.name], questions))


def _save(report: Report) -> None:
    """Writes what is there, so that a run that is ended leaves the parts that it did."""
    if report.options.json:
        report.write(report.options.json)


def _sets(report: Report) -> list[Labelled]:
    chance = random.Random(report.options.seed)
    many, asked = report.options.pick(40, 6), report.options.pick(24, 6)
    return [
        labelled.qed(many, asked, chance),
        labelled.scifact(many, chance),
        labelled.xquad("en", many, asked, chance),
        labelled.xquad("zh", many, 0, chance),
    ]


@asynccontextmanager
async def _mesh(keep: Path | None) -> AsyncIterator[Stack]:
    with state_dir() as own:
        async with bench_mesh(StackOptions(state_dir=keep or own)) as stack:
            yield stack


async def _sentences(
    services: Upstreams, model: Kept, collection: str, one: Labelled, done: Lines, report: Report
) -> list[Judged]:
    citer, seed = Citer(services, model, collection), report.options.seed
    most = report.options.pick(SENTENCES.get(one.name, 50), 12)
    said = random.Random(seed).sample(one.said, min(len(one.said), most))
    with show.progress(f"{one.name}: sentences", len(said)) as step:

        async def cite(at: int) -> Judged:
            key = digest(WAYS, collection, said[at], seed + at)
            if known := done.get(key):
                found = Judged(said[at], {way: cited_of(each) for way, each in known.items()})
            else:
                found = await citer.cite(said[at], random.Random(seed + at))
                done.put(key, {way: asdict(each) for way, each in found.ways.items()})
            step()
            return found

        return list(await asyncio.gather(*map(cite, range(len(said)))))


async def _answers(
    services: Upstreams, model: Kept, names: dict[str, str], sets: Sequence[Labelled], prompt: Prompt
) -> list[Line]:
    found: list[Line] = []
    for one in (one for one in sets if one.asked):
        answerer = Answerer(services, model, names[one.name], load(GatewaySettings).limits)
        show.say(f"{one.name}: {len(one.asked)} answers, {prompt.name}")
        some = one.asked[: len(one.asked) // 2] if prompt.held else one.asked
        lines = await asyncio.gather(*(answerer.answer(asked, prompt) for asked in some))
        found += [line for each in lines for line in each]
    return found


def _tell_sentences(report: Report, sets: Sequence[Labelled], judged: Sequence[list[Judged]]) -> None:
    seed, every = report.options.seed, [one for each in judged for one in each]
    columns = ("set", "way", "true", "precision", "recall", "cited", "right place", "false", "cited", "against")
    rows = [row for one, each in zip(sets, judged, strict=True) for row in told.sentence_rows(one.name, each, seed)]
    report.tables.append(Table("Labelled sentences", columns, [*rows, *told.sentence_rows("all", every, seed)]))
    true = {way: [told.of_sentence(one, way) for one in every if one.said.true] for way in ("markers", "check", "both")}
    for way, ones in true.items():
        report.answer(FIGURES[way], told.figure(ones, told.precision, seed))
    report.answer(FIGURES["recall"], told.figure(true["both"], told.recall, seed))
    report.answer(FIGURES["over markers"], told.apart(true["both"], true["markers"], told.precision, seed))
    report.answer(FIGURES["over check"], told.apart(true["both"], true["check"], told.precision, seed))
    false = [told.of_sentence(one, "both") for one in every if one.said.true is False]
    report.answer(FIGURES["false"], told.figure(false, told.supported, seed))


def _tell_answers(report: Report, prompt: Prompt, lines: Sequence[Line]) -> None:
    seed = report.options.seed
    columns = ("prompt", "way", "sentences", "cited", "stating", "precision", "recall", "markers of no source")
    report.tables.append(Table(f"Answers, {prompt.name}", columns, told.line_rows(prompt.name, lines, seed)))
    ones = [told.of_line(line, "both") for line in lines if line.states and line.packed]
    if ones and prompt is PROMPTS[0]:
        report.answer(FIGURES["answers"], told.figure(ones, told.precision, seed))
        report.answer(FIGURES["answers recall"], told.figure(ones, told.recall, seed))


def _tell_cost(report: Report, spent: Sequence[cost.Spent]) -> None:
    written = [one for one in spent if one.written]
    report.notes.append(f"cost: {len(written)} of {len(spent)} answers were written by the model")
    if written:
        report.answer(FIGURES["share"], _share(written, [one.checks_s for one in written], report.options.seed))
        report.answer(FIGURES["after"], _share(written, [one.after_s for one in written], report.options.seed))


def _share(spent: Sequence[cost.Spent], part: Sequence[float], seed: int) -> Estimate:
    """A part of the seconds of all answers together."""

    def of(drawn: Sequence[float]) -> float:
        return sum(part[int(at)] for at in drawn) / sum(spent[int(at)].total_s for at in drawn)

    return estimate(range(len(spent)), seed, of)


def main() -> int:
    """Runs the bench; `--keep DIR` beside what benches share."""
    kept, rest = keep()
    if kept and not any(word.startswith("--json") for word in rest):
        rest += ["--json", str(kept / "report.json")]
    return run("citations", __doc__ or "", list(FIGURES.values()), Bench(kept).measure, rest)


if __name__ == "__main__":
    sys.exit(main())
