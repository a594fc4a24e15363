"""How a bench runs from start to end."""

import asyncio
import random
import signal
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, TypeVar

from bench.common import show
from bench.common.args import options
from bench.common.report import Question, Report
from citemesh.errors import CiteMeshError

T = TypeVar("T")


def run(
    bench: str,
    about: str,
    questions: Sequence[Question],
    measure: Callable[[Report], Coroutine[Any, Any, None]],
    arguments: Sequence[str] | None = None,
) -> int:
    """Reads the arguments, says what is predicted, measures, says what was found; returns the exit status."""
    given = options(about, arguments)
    report = Report(bench, given)
    show.predictions(about.strip().splitlines()[0], questions)
    try:
        ended = asyncio.run(_done_or_ended(measure(report)))
    except KeyboardInterrupt:
        ended = True
    except CiteMeshError as error:
        show.errors.print(f"{bench}: {error}", style="red", markup=False)
        return 1
    if ended:
        show.errors.print(f"{bench}: ended before it was done", style="red")
        return 130
    show.report(report)
    if given.json:
        report.write(given.json)
    return 0


def shuffled(rounds: int, sides: Sequence[T], seed: int) -> Iterator[list[T]]:
    """For each round the sides in an order of their own, so that none is always first."""
    chance = random.Random(seed)
    for _ in range(rounds):
        yield chance.sample(list(sides), len(sides))


async def _done_or_ended(work: Coroutine[Any, Any, None]) -> bool:
    """Does the work, or has it stop what it started when SIGTERM comes; says whether it came."""
    task, told = asyncio.ensure_future(work), asyncio.Event()

    def end() -> None:
        told.set()
        task.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    try:
        await task
    except asyncio.CancelledError:
        if not told.is_set():
            raise
    return told.is_set()
