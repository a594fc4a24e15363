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
        asyncio.run(_ending_in_order(measure(report)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        show.errors.print(f"{bench}: ended before it was done", style="red")
        return 130
    except CiteMeshError as error:
        show.errors.print(f"{bench}: {error}", style="red", markup=False)
        return 1
    show.report(report)
    if given.json:
        report.write(given.json)
    return 0


def shuffled(rounds: int, sides: Sequence[T], seed: int) -> Iterator[list[T]]:
    """For each round the sides in an order of their own, so that none is always first."""
    chance = random.Random(seed)
    for _ in range(rounds):
        yield chance.sample(list(sides), len(sides))


async def _ending_in_order(work: Coroutine[Any, Any, None]) -> None:
    """Does the work; a SIGTERM cancels it, so that what it started is stopped."""
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await task
