"""Kills a process that works on a store, at random instants, and looks at the store after each."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.crashing.check import Checked, check, check_files
from bench.crashing.driver import engine_on
from bench.crashing.ledger import Ledger
from citemesh.errors import CiteMeshError

_LONGEST_S = 0.2
_WHILE_OPENING = 8
_PROVED_EVERY = 5


@dataclass(slots=True)
class Outcome:
    """What came of all kills. within: kills that struck within a rebuild, a copy, a table, a step or a start."""

    kills: int = 0
    acknowledged: int = 0
    found: int = 0
    gone: int = 0
    open_s: list[float] = field(default_factory=list)
    within: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    """What was lost, or was there and should not be; nothing is looked at after the first."""

    def add(self, checked: Checked, open_s: float) -> None:
        """One kill's."""
        self.kills += 1
        self.found += checked.found
        self.gone += checked.gone
        self.open_s.append(open_s)


async def kill_again_and_again(folder: Path, kills: int, seed: int) -> Outcome:
    """Kills so many times, or until something is wrong."""
    directory, chance = folder / "store", random.Random(seed)
    ledger, outcome = Ledger(), Outcome()
    with driver() as process:
        for number in range(kills):
            said = await asyncio.to_thread(run_and_kill, process, directory, ledger.next_number, chance, number)
            for line in said:
                ledger.hear(line)
            for name in _within(said):
                outcome.within[name] = outcome.within.get(name, 0) + 1
            outcome.acknowledged = ledger.acknowledged
            try:
                outcome.add(*await _look(ledger, directory, chance))
                if number % _PROVED_EVERY == _PROVED_EVERY - 1:
                    check_files(ledger, directory)
            except (AssertionError, CiteMeshError) as error:
                outcome.faults.append(f"kill {number + 1}: {error}")
                break
    return outcome


async def _look(ledger: Ledger, directory: Path, chance: random.Random) -> tuple[Checked, float]:
    engine, started = engine_on(directory), time.monotonic()
    await engine.open()
    open_s = time.monotonic() - started
    try:
        if ledger.acknowledged or await engine.collections("", 1):
            return await check(ledger, engine, directory, chance), open_s
        return Checked(), open_s
    finally:
        await engine.close()


@contextmanager
def driver() -> Iterator[subprocess.Popen[str]]:
    """A process that forks a child on a store for each line it is sent."""
    command = [sys.executable, "-m", "bench.crashing.driver"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def run_and_kill(
    process: subprocess.Popen[str], directory: Path, first: int, chance: random.Random, number: int
) -> list[str]:
    """What a child said before it was killed."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{number} {first} {directory}\n")
    process.stdin.flush()
    child = int(process.stdout.readline().removeprefix("child "))
    said: list[str] = []
    if number % _WHILE_OPENING != _WHILE_OPENING - 1:
        while not said or not said[-1].startswith("open "):
            said.append(process.stdout.readline())
            assert said[-1] not in ("", "dead\n"), "the child ended by itself"
        time.sleep(chance.uniform(0, _LONGEST_S))
    else:
        time.sleep(chance.uniform(0, 0.008))
    os.kill(child, signal.SIGKILL)
    while (line := process.stdout.readline()) != "dead\n":
        assert line, "the driver ended by itself"
        said.append(line)
    return [line for line in said if line.endswith("\n")]


def _within(said: list[str]) -> set[str]:
    """What the kill struck within."""
    open_names = {name for name in ("rebuild", "copy") if _last(said, name) in ("rebuilding", "copying")}
    tables = {line.split()[2] for line in said if line.startswith("putting") and "/" in line}
    done = {line.split()[2] for line in said if line.startswith("put ") and "/" in line}
    opening = set() if any(line.startswith("open ") for line in said) else {"start"}
    steps = {line.split()[1] for line in said if line.startswith("step ")}
    ended = {line.split()[1] for line in said if line.startswith("stepped ")}
    within_step = {"step of several"} if steps - ended else set()
    return open_names | ({"table"} if tables - done else set()) | within_step | opening


def _last(said: list[str], name: str) -> str:
    return next((line.split()[0] for line in reversed(said) if line.startswith((name[:3]))), "")
