"""Keeps programs running: parallel start, back-off after a crash, and nothing left behind (docs/adr/0003)."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cli.local_mesh import process_reaper
from cli.local_mesh.processes import bound_log, describe_exit, signal_group, signal_one, spawn

State = Literal["waiting", "starting", "healthy", "unhealthy", "backing-off", "stopped"]

FIRST_BACKOFF_S = 0.5
MAX_BACKOFF_S = 10.0
FORGIVEN_AFTER_S = 30.0
"""Health for so long makes the next crash a first one again."""
_STARTING_POLL_S = 0.1
_HEALTHY_POLL_S = 1.0
_HEALTH_S = 3.0
"""Within which a healthy program says so."""


@dataclass(frozen=True, slots=True)
class Program:
    """What to run, how to tell that it is well, and when it may start and stop."""

    name: str
    command: Sequence[str]
    log: Path
    """Its standard output and error are appended here."""
    healthy: Callable[[], Awaitable[bool]]
    """Asked again and again; must not raise. No answer in time counts as no."""
    env: Mapping[str, str] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    """Starts once these are healthy."""
    stop_phase: int = 0
    """Lower phases are stopped, and have ended, before higher ones are asked to."""
    stop_s: float = 10.0
    """Time between SIGTERM and SIGKILL."""


@dataclass(slots=True)
class Status:
    """How a program is. `pid` is 0 while it doesn't run."""

    state: State = "waiting"
    pid: int = 0
    restarts: int = 0
    exits_before_health: int = 0
    """Ends since it was last healthy."""
    last_exit: str = ""
    healthy_since: float = 0.0
    """On the monotonic clock; 0 while it isn't healthy."""


class Supervisor:
    """Runs programs in their own process groups until `stop`; one use only."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self._programs = {program.name: program for program in programs}
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._stopping: set[str] = set()
        self._undertaker: subprocess.Popen[bytes] | None = None
        self.status = {program.name: Status() for program in programs}

    def start(self) -> None:
        """Starts all programs, in parallel but for their `after`; returns at once."""
        # Isolated and without site packages: it must start fast and depend on nothing.
        command = [sys.executable, "-I", "-S", process_reaper.__file__]
        self._undertaker = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        for program in self._programs.values():
            self._watches[program.name] = asyncio.create_task(self._keep(program), name=program.name)

    async def stop(self) -> None:
        """SIGTERM phase by phase, SIGKILL to what doesn't end in time; returns when nothing of ours runs."""
        for phase in sorted({program.stop_phase for program in self._programs.values()}):
            ending = [program for program in self._programs.values() if program.stop_phase == phase]
            await asyncio.gather(*(self._end(program) for program in ending))
        if self._undertaker and self._undertaker.stdin:
            self._undertaker.stdin.close()
            await asyncio.to_thread(self._undertaker.wait, 5)

    def kill_all(self) -> None:
        """SIGKILL to everything at once, for a user who won't wait; `stop` still has to be awaited."""
        self._stopping.update(self._programs)
        for status in self.status.values():
            signal_group(status.pid, signal.SIGKILL)

    def kill(self, name: str, number: int = signal.SIGKILL) -> int:
        """Signal a program's group, as a crash would; it is restarted. Answers the pid it had."""
        pid = self.status[name].pid
        signal_group(pid, number)
        return pid

    async def _keep(self, program: Program) -> None:
        """One program's life: wait for others, run, back off, run again."""
        status = self.status[program.name]
        while not all(self.status[name].healthy_since for name in program.after):  # noqa: ASYNC110 - health is polled
            await asyncio.sleep(_STARTING_POLL_S)
        backoff_s = FIRST_BACKOFF_S
        while program.name not in self._stopping:
            lasted_s = await self._run(program, status)
            if program.name in self._stopping:
                break
            backoff_s = FIRST_BACKOFF_S if lasted_s >= FORGIVEN_AFTER_S else backoff_s
            status.state = "backing-off"
            await asyncio.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, MAX_BACKOFF_S)
            status.restarts += 1
        status.state = "stopped"

    async def _run(self, program: Program, status: Status) -> float:
        """One run from start to end; answers the seconds that it had been healthy when it ended."""
        status.state = "starting"
        try:
            process = await spawn(program.command, program.env, program.log)
        except OSError as error:
            status.last_exit = f"could not start: {error}"
            status.exits_before_health += 1
            return 0.0
        self._register(process.pid)
        status.pid = process.pid
        watch = asyncio.create_task(self._watch(program, status))
        try:
            code = await process.wait()
        finally:
            watch.cancel()
            # Workers of a crashed program would hold its memory and sockets.
            signal_group(process.pid, signal.SIGKILL)
            self._forget(process.pid)
        lasted_s = time.monotonic() - status.healthy_since if status.healthy_since else 0.0
        status.pid, status.healthy_since, status.last_exit = 0, 0.0, describe_exit(code)
        status.exits_before_health += 1
        return lasted_s

    async def _watch(self, program: Program, status: Status) -> None:
        """Follow a running program's health, and keep its log within bounds."""
        while True:
            well = await _asked(program)
            if well and not status.healthy_since:
                status.healthy_since, status.exits_before_health = time.monotonic(), 0
            if well:
                status.state = "healthy"
            elif status.healthy_since:
                status.state, status.healthy_since = "unhealthy", 0.0
            await asyncio.to_thread(bound_log, program.log)
            await asyncio.sleep(_HEALTHY_POLL_S if well else _STARTING_POLL_S)

    async def _end(self, program: Program) -> None:
        self._stopping.add(program.name)
        task = self._watches.get(program.name)
        if task is None:
            return
        pid = self.status[program.name].pid
        if not pid:
            task.cancel()
        # The leader alone: it ends its own workers in order; what it leaves is killed with its group.
        signal_one(pid, signal.SIGTERM)
        _, late = await asyncio.wait([task], timeout=program.stop_s)
        if late:
            signal_group(self.status[program.name].pid, signal.SIGKILL)
            await asyncio.wait([task])
        self.status[program.name].state = "stopped"

    def _register(self, pid: int) -> None:
        self._tell(f"+{pid}\n")

    def _forget(self, pid: int) -> None:
        self._tell(f"-{pid}\n")

    def _tell(self, line: str) -> None:
        if self._undertaker and self._undertaker.stdin:
            with contextlib.suppress(BrokenPipeError, ValueError):
                self._undertaker.stdin.write(line.encode())
                self._undertaker.stdin.flush()


async def _asked(program: Program) -> bool:
    try:
        async with asyncio.timeout(_HEALTH_S):
            return await program.healthy()
    except TimeoutError:
        return False
