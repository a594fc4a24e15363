"""What a hop costs: one unary call direct, through two Envoys, and through two Envoys with the identity policy.

The call is the tokenizer's ListTokenizers, which does next to nothing, made by the client as every app makes it.
It goes from a caller in the gateway's place to the tokenizer, in two meshes of two services with fake engines:

    direct   caller → tokenizer's unix socket
    envoy    caller → gateway's sidecar → tokenizer's sidecar → the same socket; no policies in this mesh
    direct2  direct, in the second mesh; what differs between it and direct is noise
    policy   the way of envoy in the second mesh, whose sidecars enforce the identity policy

All four are measured in every round, in an order drawn anew, so that what disturbs the machine disturbs them alike.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from bench.common import cpu, meshes, show
from bench.common.report import Cell, Prediction, Question, Report, Table
from bench.common.run import run, shuffled
from bench.common.stats import Estimate, difference, estimate, median, percentile, ratio
from citemesh.client import Mesh
from citemesh.mesh.topology import Topology, load_topology
from cli.local_mesh.layout import StackOptions
from cli.local_mesh.stack import Stack

CONCURRENCIES = (1, 16)
SERVICES = ("gateway", "tokenizer")
BASES = {"direct": "direct", "envoy": "direct", "direct2": "direct", "policy": "direct2"}
"""What each way is compared with: the direct call of the very same process."""
WARM_UP = 200
IDLE_S = 5.0

ALONE = "two Envoys at some 0.4 ms each on top of a direct call of 0.8 to 0.9 ms"
CHECK = "the policy took 0.1 ms of 1.8 ms when it was tried alone"
SHARED = "16 callers keep both cores busy: the Python at both ends works while Envoy does, so the ratio shrinks"
PREDICTIONS = {
    ("ratio", "envoy", 1): Prediction(1.6, 2.4, ALONE),
    ("ratio", "policy", 1): Prediction(1.7, 2.6, CHECK),
    ("ratio", "direct2", 1): Prediction(0.95, 1.05, "the same thing twice"),
    ("added", "policy", 1): Prediction(0.6, 1.4, ALONE),
    ("cpu", "envoy", 1): Prediction(120, 300, "59 µs in one, plain"),
    ("cpu", "policy", 1): Prediction(150, 360, "87 µs in one with the policy"),
    ("ratio", "envoy", 16): Prediction(1.2, 1.8, SHARED),
    ("ratio", "policy", 16): Prediction(1.2, 1.9, SHARED),
    ("ratio", "direct2", 16): Prediction(0.95, 1.05, "the same thing twice"),
    ("cpu", "envoy", 16): Prediction(100, 260, "fewer wake-ups a call than alone"),
    ("cpu", "policy", 16): Prediction(130, 320, "as above, and the policy"),
}
NAMES = {
    "ratio": ("p50 of {side} / {base}, {callers} at once", ""),
    "added": ("p50 of {side} - {base}, {callers} at once", "ms"),
    "cpu": ("CPU of both Envoys a call, {side}, {callers} at once", "µs"),
}


def _question(kind: str, side: str, callers: int) -> Question:
    name, unit = NAMES[kind]
    prediction = PREDICTIONS[kind, side, callers]
    return Question(name.format(side=side, base=BASES[side], callers=callers), unit, prediction)


@dataclass(slots=True)
class Side:
    """One way to make the call, and what it took, round by round."""

    name: str
    mesh: Mesh
    sidecars: Sequence[int] = ()
    seconds: list[list[float]] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    async def round(self, calls: int, concurrency: int) -> None:
        """Makes so many calls, so many at once."""
        before = cpu.cpu_s(self.sidecars)
        taken: list[float] = []
        await asyncio.gather(*(self._caller(taken, calls // concurrency) for _ in range(concurrency)))
        self.seconds.append(taken)
        self.cpu_s.append((cpu.cpu_s(self.sidecars) - before) / len(taken))

    async def _caller(self, taken: list[float], calls: int) -> None:
        tokenizer = self.mesh.tokenizer
        for _ in range(calls):
            started = time.perf_counter()
            await tokenizer.list()
            taken.append(time.perf_counter() - started)

    def per_round(self, share: float) -> list[float]:
        """A percentile of each round."""
        return [percentile(taken, share) for taken in self.seconds]

    def pooled_ms(self, share: float) -> float:
        """A percentile over all rounds, in ms."""
        return 1000 * percentile([one for taken in self.seconds for one in taken], share)


def topology(policies: bool) -> Topology:
    """The project's mesh cut down to the gateway and the tokenizer, with or without policies."""
    whole = load_topology()
    service_names = [whole.service(name) for name in SERVICES]
    kept = [
        replace(service_name, calls=tuple(c for c in service_name.calls if c in SERVICES))
        for service_name in service_names
    ]
    return replace(
        whole, services=tuple(kept if policies else [replace(service_name, policies=()) for service_name in kept])
    )


async def measure(report: Report) -> None:
    """Starts both meshes and measures both concurrencies."""
    rounds, calls = report.options.pick(40, 6), report.options.pick(320, 160)
    report.setting |= {"rounds": rounds, "calls_per_round": calls, "concurrencies": list(CONCURRENCIES)}
    async with AsyncExitStack() as stack:
        meshes_of = {}
        for policies in (False, True):
            show.say(f"starting a mesh {'with' if policies else 'without'} policies")
            options = StackOptions(state_dir=stack.enter_context(meshes.state_dir()), fake=True)
            meshes_of[policies] = await stack.enter_async_context(meshes.bench_mesh(options, topology(policies)))
        for concurrency in CONCURRENCIES:
            sides = await _sides(stack, meshes_of[False], meshes_of[True])
            await _rounds(sides, rounds, calls, concurrency, report.options.seed)
            _tell(report, {side.name: side for side in sides}, concurrency)
        idle = await _idle_us_per_s(meshes_of[True])
    report.notes += [
        "A hop is app → own sidecar → other sidecar → app; times are the caller's, client service included.",
        "p10 is the call that nothing else on the machine held up; where it is busy, trust it before p50.",
        f"CPU is what the sidecars' threads ran, by /proc; both together ran {idle:.0f} µs a second without calls.",
    ]


async def _idle_us_per_s(mesh: Stack) -> float:
    """What the sidecars of a mesh do by themselves: health checks, statistics."""
    pids = meshes.sidecar_pids(mesh, SERVICES)
    before = cpu.cpu_s(pids)
    await asyncio.sleep(IDLE_S)
    return 1e6 * (cpu.cpu_s(pids) - before) / IDLE_S


async def _sides(stack: AsyncExitStack, plain: Stack, guarded: Stack) -> list[Side]:
    return [
        Side("direct", await stack.enter_async_context(meshes.direct(plain, "gateway"))),
        await _through(stack, "envoy", plain),
        Side("direct2", await stack.enter_async_context(meshes.direct(guarded, "gateway"))),
        await _through(stack, "policy", guarded),
    ]


async def _through(stack: AsyncExitStack, name: str, mesh: Stack) -> Side:
    caller = await stack.enter_async_context(meshes.insider(mesh, "gateway"))
    return Side(name, caller, meshes.sidecar_pids(mesh, SERVICES))


async def _rounds(sides: Sequence[Side], rounds: int, calls: int, concurrency: int, seed: int) -> None:
    for side in sides:
        await side.round(WARM_UP, concurrency)
        side.seconds.clear()
        side.cpu_s.clear()
    with show.progress(f"calls, {concurrency} at once", rounds) as step:
        for order in shuffled(rounds, sides, seed):
            for side in order:
                await side.round(calls, concurrency)
            step()


def _tell(report: Report, sides: dict[str, Side], concurrency: int) -> None:
    columns = ("way", "p10 ms", "p50 ms", "p99 ms", "p50 / base", "p99 / base", "base", "Envoy CPU µs")
    rows = [_row(side, sides[BASES[name]]) for name, side in sides.items()]
    report.tables.append(Table(f"{concurrency} at once", columns, rows))
    for kind, name, asked in PREDICTIONS:
        if asked == concurrency:
            answer = _answer(kind, sides[name], sides[BASES[name]], report.options.seed)
            report.answer(_question(kind, name, asked), answer)


def _row(side: Side, base: Side) -> tuple[Cell, ...]:
    p50, p99 = side.pooled_ms(0.5), side.pooled_ms(0.99)
    spent = 1e6 * median(side.cpu_s) if side.sidecars else ""
    return (
        side.name,
        side.pooled_ms(0.1),
        p50,
        p99,
        p50 / base.pooled_ms(0.5),
        p99 / base.pooled_ms(0.99),
        base.name,
        spent,
    )


def _answer(kind: str, side: Side, base: Side, seed: int) -> Estimate:
    if kind == "cpu":
        return estimate(side.cpu_s, seed).scaled(1e6)
    if kind == "added":
        return difference(side.per_round(0.5), base.per_round(0.5), seed).scaled(1e3)
    return ratio(side.per_round(0.5), base.per_round(0.5), seed)


if __name__ == "__main__":
    sys.exit(run("hop", __doc__ or "", [_question(*key) for key in PREDICTIONS], measure))
