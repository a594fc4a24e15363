"""What the mesh costs a person who waits: time to the first text of Ask, over the same steps in one process.

The mesh is the whole one, five services behind their sidecars with the identity policy, asked through its public
endpoint as `citemesh ask` does. The other side is the gateway's flow and admission in this process, over the services'
in-process adapters: the same servicers and messages, without sockets, serialisation and Envoy between them. Both have
the same settings, the same documents (the store is copied) and a language model each; they take turns, one question at
a time, each question asked of both before the next, in a random order.

    fresh     questions that were not asked before, as a person asks them; the figure that has an aim
    repeated  one question again and again: all caches hit, so the least work and the mesh's largest share
"""

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from bench.common import corpus, cpu, meshes, show
from bench.common.asking import STEPS, Ask, Asker
from bench.common.machine import require_memory
from bench.common.report import Aim, Prediction, Question, Report, Table
from bench.common.run import run, shuffled
from bench.common.stats import difference, ratio
from citemesh.errors import PreconditionFailed
from citemesh.kit.settings import load
from cli.local_mesh.layout import StackOptions
from cli.local_mesh.stack import Stack

MAX_TOKENS = 16
MEMORY_GIB = 12.0
"""What two meshes' worth of models take."""
FEW = "seven hops of 1 to 2 ms before the first token, against the seconds that reading a new prompt takes on one core"
ALL_CACHED = "the same hops against a few hundred ms: encoding the question twice, scoring, one model step"
QUESTIONS = {
    "fresh": Question("mesh / one process, fresh", "", Prediction(1.0, 1.05, FEW), Aim(at_most=1.10)),
    "repeated": Question("mesh / one process, repeated", "", Prediction(1.02, 1.2, ALL_CACHED)),
    "added": Question(
        "mesh - one process, repeated", "ms", Prediction(8, 30, "seven hops, and 24 passages sent twice")
    ),
}


async def measure(report: Report) -> None:
    """Starts both sides and asks."""
    require_memory(MEMORY_GIB)
    fresh, repeats = report.options.pick(24, 3), report.options.pick(24, 3)
    pages = corpus.documents(report.options.pick(40, 8), report.options.seed)
    questions = corpus.questions(pages, fresh + 2, report.options.seed)
    report.setting |= {"fresh": fresh, "repeats": repeats, "max_tokens": MAX_TOKENS, "pages": len(pages)}
    report.setting |= {"documents": corpus.source(pages)}
    async with AsyncExitStack() as stack:
        sides = await _sides(stack, pages)
        show.say("warming up")
        await _ask(sides, questions[:2], report.options.seed)
        for kind, texts in (("fresh", questions[2:]), ("repeated", [questions[-1]] * repeats)):
            for side in sides:
                side.answers.clear()
            await _ask(sides, texts, report.options.seed, kind)
            _tell(report, kind, *sides)


async def _sides(stack: AsyncExitStack, pages: list[Path]) -> tuple[Asker, Asker]:
    show.say("starting the mesh")
    options = StackOptions(state_dir=stack.enter_context(meshes.state_dir()))
    mesh = await stack.enter_async_context(meshes.bench_mesh(options))
    await _ingest(mesh, pages)
    show.say("loading the same engines in this process")
    client = await stack.enter_async_context(mesh.client(600.0))
    local_state = stack.enter_context(meshes.state_dir())
    copy = Path((await client.collections.snapshot()).directory)
    local = await stack.enter_async_context(one_process(mesh, copy, local_state))
    local_pids = [pid for pid in cpu.tree(os.getpid())[1:] if pid not in _pids(mesh)]
    return Asker("mesh", client.query.ask, local_pids), Asker("one process", local, _pids(mesh))


def _pids(mesh: Stack) -> list[int]:
    return [pid for root in mesh.pids().values() for pid in cpu.tree(root)]


async def _ingest(mesh: Stack, pages: list[Path]) -> None:
    async with mesh.client(3600.0) as client:
        with show.progress("pages taken in", len(pages)) as step:
            async for progress in client.documents.ingest([corpus.upload(page) for page in pages]):
                if progress.state == "failed":
                    raise PreconditionFailed("INGEST", progress.error_message, progress.error_remedy)
                if progress.state in ("committed", "unchanged"):
                    step()


@asynccontextmanager
async def one_process(mesh: Stack, copy: Path, state_dir: Path) -> AsyncIterator[Ask]:
    """The gateway's flow over the services, all in this process, on a copy of the mesh's store."""
    # Math libraries read these when they are imported, which is below; the mesh's apps have the same.
    os.environ |= {name: value for name, value in mesh.layout.app_env("retrieval").items() if name.endswith("_THREADS")}
    from bench.common.one_process import upstreams
    from gateway.answering import Answering
    from gateway.main import admission_of, flow_of
    from gateway.settings import GatewaySettings

    settings = load(GatewaySettings)
    async with upstreams(copy, state_dir) as services:
        yield Answering(flow_of(settings, services), admission_of(settings), settings.timeout_s).ask


async def _ask(sides: Sequence[Asker], questions: Sequence[str], seed: int, kind: str = "questions") -> None:
    with show.progress(kind, len(questions)) as step:
        for text, order in zip(questions, shuffled(len(questions), sides, seed), strict=True):
            for side in order:
                await side.question(text, MAX_TOKENS)
            step()


def _tell(report: Report, kind: str, mesh: Asker, local: Asker) -> None:
    seed = report.options.seed
    report.tables.append(_steps(kind, mesh, local))
    report.answer(QUESTIONS[kind], ratio(mesh.first_s(), local.first_s(), seed))
    if kind == "repeated":
        report.answer(QUESTIONS["added"], difference(mesh.first_s(), local.first_s(), seed).scaled(1000))
    pairs = zip(mesh.answers, local.answers, strict=True)
    same = sum(by_mesh.text == by_local.text for by_mesh, by_local in pairs)
    idle = [f"{100 * side.resting_cpu_s / side.seconds:.0f} % of a core during {side.name}'s" for side in (mesh, local)]
    report.notes.append(
        f"{kind}: {same} of {len(mesh.answers)} answers are the same on both sides, prompt tokens "
        f"{mesh.tokens()} and {local.tokens()}; "
        f"the side that had to rest took {' and '.join(idle)} turns"
    )


def _steps(kind: str, mesh: Asker, local: Asker) -> Table:
    """Medians of the steps, and each one's share of the mesh's time to the first text."""
    names = (*STEPS, "between")
    rows = [(name, mesh.step_ms(name), local.step_ms(name)) for name in names]
    mesh_ms = sum(ms for _, ms, _ in rows)
    shares = [(name, ms, local_ms, ms - local_ms, 100 * ms / mesh_ms) for name, ms, local_ms in rows]
    total = ("sum of medians", mesh_ms, sum(row[2] for row in rows))
    columns = ("step", "mesh ms", "one process ms", "difference ms", "% of mesh")
    return Table(f"Until the first text, {kind}", columns, [*shares, (*total, total[1] - total[2], 100.0)])


if __name__ == "__main__":
    sys.exit(run("ask_ttft", __doc__ or "", list(QUESTIONS.values()), measure))
