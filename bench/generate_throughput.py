"""What the mesh costs a language model's throughput: tokens a second of Generate over those of a bare AsyncLLM.

Two engines are loaded with the same settings and stay loaded: one bare, in this process, and one behind the generation
service in a mesh of its own. They take turns, never at once, and an idle engine waits without work; the report tells
how much processor time the resting one took, so that this is seen and not believed. In every round, in an order drawn
anew:

    bare     prompts straight to AsyncLLM
    direct   caller → generation's unix socket → the service → AsyncLLM
    mesh     caller → gateway's sidecar → generation's sidecar, with the identity policy → the service → AsyncLLM

Prompts are token ids of one length, temperature 0, the same for all sides but for the first tokens: these are new in
each call, so that no side finds a prompt in its prefix cache. Tokens a second are the tokens that all callers of a turn
got, over the time from the first request to the last token.
"""

import asyncio
import os
import sys
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from bench.common import cpu, meshes, show
from bench.common.machine import require_memory
from bench.common.prompts import Ids, Prompts
from bench.common.report import Aim, Prediction, Question, Report, Table
from bench.common.run import run, shuffled
from bench.common.stats import ratio
from bench.common.writing import Side, Writer
from citemesh.client import Mesh
from citemesh.client.types import Sampling
from citemesh.kit.settings import load
from citemesh.mesh.topology import Topology, load_topology
from citemesh.models import prepare
from cli.local_mesh.layout import StackOptions
from cli.local_mesh.stack import Stack
from services.generation.settings import GenerationSettings

CONCURRENCIES = {1: 2, 8: 1}
"""Callers at once, and prompts that each sends in a turn."""
SERVICES = ("gateway", "generation")
PROMPT_TOKENS = 256
MEMORY_GIB = 7.0
"""What two engines and their processes take."""
AIM = Aim(at_least=0.95)
ALONE = "a token takes 20 ms and more; passing it on takes about 1 ms on the other core, while the next is made"
MANY = "8 tokens a step are 8 messages through service, two Envoys and client: some 5 ms of the other core a step"
QUESTIONS = {
    ("direct", "bare", 1): Question("direct / bare, 1 at once", "", Prediction(0.98, 1.01, ALONE)),
    ("mesh", "bare", 1): Question("mesh / bare, 1 at once", "", Prediction(0.97, 1.01, ALONE), AIM),
    ("direct", "bare", 8): Question("direct / bare, 8 at once", "", Prediction(0.95, 1.0, MANY)),
    ("mesh", "bare", 8): Question("mesh / bare, 8 at once", "", Prediction(0.93, 1.0, MANY), AIM),
    # One engine serves both of these, so no difference between two engines is in them.
    ("mesh", "direct", 1): Question("mesh / direct, 1 at once", ""),
    ("mesh", "direct", 8): Question("mesh / direct, 8 at once", ""),
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """Both engines, ready; pids are the processes of the bare one."""

    bare: Any
    pids: Sequence[int]
    mesh: Stack
    prompts: Prompts


async def measure(report: Report) -> None:
    """Loads both engines and lets them take turns."""
    require_memory(MEMORY_GIB)
    rounds, max_tokens = report.options.pick(8, 2), report.options.pick(96, 24)
    settings = load(GenerationSettings)
    report.setting |= {"rounds": rounds, "max_tokens": max_tokens, "prompt_tokens": PROMPT_TOKENS}
    report.setting |= {name: getattr(settings, name) for name in ("model", "dtype", "threads", "compile")}
    async with AsyncExitStack() as stack:
        loaded = await _load(stack, settings, report.options.seed)
        for concurrency, each in CONCURRENCIES.items():
            sides = await _sides(stack, loaded)
            with show.progress(f"turns, {concurrency} at once", rounds + 1) as step:
                # The first round warms both up and is dropped.
                for number, order in enumerate(shuffled(rounds + 1, sides, report.options.seed)):
                    await _round(order, loaded.prompts, concurrency, each, max_tokens)
                    for side in sides if number == 0 else ():
                        side.turns.clear()
                    step()
            _tell(report, sides, concurrency)
    report.notes.append("The last column is the processor time of the engine that had to rest, as % of one core.")


async def _load(stack: AsyncExitStack, settings: GenerationSettings, seed: int) -> Loaded:
    show.say("preparing the model")
    model = await asyncio.to_thread(prepare, settings.model, settings.models_dir)
    show.say("loading the bare engine")
    bare = await stack.enter_async_context(bare_engine(settings))
    pids = cpu.tree(os.getpid())[1:]
    show.say("starting the mesh and its engine")
    options = StackOptions(state_dir=stack.enter_context(meshes.state_dir()))
    mesh = await stack.enter_async_context(meshes.bench_mesh(options, topology()))
    return Loaded(bare, pids, mesh, Prompts(model.directory, PROMPT_TOKENS, seed))


def topology() -> Topology:
    """The project's mesh cut down to the gateway and generation."""
    whole = load_topology()
    gateway, generation = (whole.service(name) for name in SERVICES)
    return replace(whole, services=(replace(gateway, calls=("generation",)), generation))


@asynccontextmanager
async def bare_engine(settings: GenerationSettings) -> AsyncIterator[Any]:
    """vLLM's AsyncLLM, made by the service's own engine so that no setting differs, then called past it."""
    from services.generation.main import make_engine

    engine: Any = make_engine(settings)
    await engine.start()
    try:
        yield engine._llm
    finally:
        await engine.stop()


async def _sides(stack: AsyncExitStack, loaded: Loaded) -> list[Side]:
    served = cpu.tree(loaded.mesh.pids()["generation"])
    direct = await stack.enter_async_context(meshes.direct(loaded.mesh, "gateway", 600.0))
    through = await stack.enter_async_context(meshes.insider(loaded.mesh, "gateway", 600.0))
    return [
        Side("bare", bare_writer(loaded.bare), served),
        Side("direct", mesh_writer(direct), loaded.pids),
        Side("mesh", mesh_writer(through), loaded.pids),
    ]


def bare_writer(llm: Any) -> Writer:
    """Writes with vLLM itself, in deltas as the service does."""
    from vllm import SamplingParams
    from vllm.inputs.engine import tokens_input
    from vllm.sampling_params import RequestOutputKind

    async def write(prompt: Ids, max_tokens: int) -> AsyncIterator[int]:
        parameters = SamplingParams(temperature=0.0, max_tokens=max_tokens, output_kind=RequestOutputKind.DELTA)
        async for output in llm.generate(tokens_input(list(prompt)), parameters, request_id=uuid.uuid4().hex):
            yield len(output.outputs[0].token_ids)

    return write


def mesh_writer(mesh: Mesh) -> Writer:
    """Writes with the generation service."""

    async def write(prompt: Ids, max_tokens: int) -> AsyncIterator[int]:
        async for delta in mesh.generation.generate(prompt, sampling=Sampling(max_tokens=max_tokens)):
            yield len(delta.token_ids)

    return write


async def _round(order: Sequence[Side], prompts: Prompts, callers: int, each: int, max_tokens: int) -> None:
    bodies = [[prompts.make() for _ in range(each)] for _ in range(callers)]
    for side in order:
        fresh = [[prompts.refreshed(prompt) for prompt in mine] for mine in bodies]
        await side.turn(fresh, max_tokens)


def _tell(report: Report, sides: Sequence[Side], concurrency: int) -> None:
    columns = ("way", "tokens/s", "tokens", "first ms", "next ms", "% of a core at rest")
    report.tables.append(Table(f"{concurrency} at once", columns, [side.row() for side in sides]))
    by_name = {side.name: side.per_turn() for side in sides}
    for (name, base, asked), question in QUESTIONS.items():
        if asked == concurrency:
            report.answer(question, ratio(by_name[name], by_name[base], report.options.seed))


if __name__ == "__main__":
    sys.exit(run("generate_throughput", __doc__ or "", list(QUESTIONS.values()), measure))
