"""The supervisor, on real processes."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cli.local_mesh import processes
from cli.local_mesh.supervisor import Program, Supervisor

pytestmark = pytest.mark.slow

DEADLINE_S = 10.0


async def until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {DEADLINE_S:g} s"
        await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    """Running, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def program(tmp_path: Path, name: str, code: str, **other: object) -> Program:
    """A Python program that is healthy once it has made the file `<name>.ready`."""

    async def healthy() -> bool:
        return (tmp_path / f"{name}.ready").exists()

    prelude = "import os, signal, subprocess, sys, time, pathlib\n"
    prelude += f"ready = pathlib.Path({str(tmp_path / name)!r} + '.ready')\n"
    fields = {"healthy": healthy, "env": {"PATH": os.environ["PATH"]}, "stop_s": 2.0} | other
    return Program(name, [sys.executable, "-S", "-c", prelude + code], tmp_path / f"{name}.log", **fields)  # type: ignore[arg-type]  # the caller names Program's fields


STAYS = "ready.touch()\ntime.sleep(600)"


@asynccontextmanager
async def running(*programs: Program) -> AsyncIterator[Supervisor]:
    supervisor = Supervisor(programs)
    supervisor.start()
    try:
        yield supervisor
    finally:
        supervisor.kill_all()
        await supervisor.stop()


async def test_runs_until_stopped_and_leaves_nothing(tmp_path: Path) -> None:
    async with running(program(tmp_path, "a", STAYS), program(tmp_path, "b", STAYS)) as supervisor:
        await until(lambda: all(s.state == "healthy" for s in supervisor.status.values()), "both healthy")
        pids = [status.pid for status in supervisor.status.values()]
        await supervisor.stop()
        assert not any(alive(pid) for pid in pids)
        assert {status.state for status in supervisor.status.values()} == {"stopped"}


async def test_restarts_with_growing_delays(tmp_path: Path) -> None:
    crashes = program(
        tmp_path,
        "a",
        f"open({str(tmp_path / 'times')!r}, 'a').write(f'{{time.monotonic()}}\\n'); sys.exit(3)",
    )
    async with running(crashes) as supervisor:
        status = supervisor.status["a"]
        await until(lambda: status.restarts >= 2 and status.state == "backing-off", "third end")
        assert status.last_exit == "ended with status 3"
        assert status.exits_before_health >= 3
    starts = [float(line) for line in (tmp_path / "times").read_text().split()]
    delays = [later - earlier for earlier, later in itertools.pairwise(starts)]
    assert delays[0] >= 0.5
    assert delays[1] >= 1.0


async def test_a_killed_program_comes_back_and_its_workers_do_not_stay(tmp_path: Path) -> None:
    note = str(tmp_path / "child")
    code = f"child = subprocess.Popen(['sleep', '600'])\npathlib.Path({note!r}).write_text(str(child.pid))\n{STAYS}"
    async with running(program(tmp_path, "a", code)) as supervisor:
        status = supervisor.status["a"]
        await until(lambda: status.state == "healthy", "healthy")
        child = int((tmp_path / "child").read_text())
        os.kill(status.pid, signal.SIGKILL)  # the leader alone, as an out-of-memory kill would
        await until(lambda: status.restarts == 1 and status.state == "healthy", "healthy again")
        assert status.last_exit == "was ended by SIGKILL"
        assert not alive(child)


async def test_waits_for_the_health_of_what_it_needs(tmp_path: Path) -> None:
    slow = program(tmp_path, "slow", f"time.sleep(0.5)\n{STAYS}")
    needs = program(
        tmp_path,
        "needs",
        f"assert pathlib.Path({str(tmp_path / 'slow.ready')!r}).exists()\n{STAYS}",
        after=("slow",),
    )
    async with running(needs, slow) as supervisor:
        await until(lambda: supervisor.status["slow"].pid > 0, "slow started")
        assert supervisor.status["needs"].state == "waiting"
        await until(lambda: supervisor.status["needs"].state == "healthy", "both healthy")
        assert supervisor.status["needs"].restarts == 0


async def test_stops_by_phases_and_kills_what_will_not_end(tmp_path: Path) -> None:
    handler = (
        "name = {name!r}\n"
        "def end(*_):\n"
        "    time.sleep({nap}); open({order!r}, 'a').write(name + ' '); os._exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n"
    )
    order = str(tmp_path / "order")
    first = program(tmp_path, "first", handler.format(name="first", nap=0.3, order=order) + STAYS, stop_phase=0)
    second = program(tmp_path, "second", handler.format(name="second", nap=0, order=order) + STAYS, stop_phase=1)
    deaf = program(
        tmp_path, "deaf", f"signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{STAYS}", stop_phase=1, stop_s=0.3
    )
    async with running(second, deaf, first) as supervisor:
        await until(lambda: all(s.state == "healthy" for s in supervisor.status.values()), "all healthy")
        pid = supervisor.status["deaf"].pid
        await supervisor.stop()
        assert not alive(pid)
    assert (tmp_path / "order").read_text().split() == ["first", "second"]


async def test_says_unhealthy_while_health_is_lost(tmp_path: Path) -> None:
    async with running(program(tmp_path, "a", STAYS)) as supervisor:
        status = supervisor.status["a"]
        await until(lambda: status.state == "healthy", "healthy")
        (tmp_path / "a.ready").unlink()
        await until(lambda: status.state == "unhealthy", "unhealthy")
        (tmp_path / "a.ready").touch()
        await until(lambda: status.state == "healthy", "healthy again")
        assert status.restarts == 0


async def test_no_answer_about_health_is_no(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.local_mesh.supervisor._HEALTH_S", 0.05)

    async def silent() -> bool:
        await asyncio.sleep(600)
        return True

    async with running(program(tmp_path, "a", STAYS, healthy=silent)) as supervisor:
        await until((tmp_path / "a.ready").exists, "started")
        assert supervisor.status["a"].state == "starting"


async def test_a_missing_program_is_reported_and_tried_again(tmp_path: Path) -> None:
    async def never() -> bool:
        return False

    missing = Program("a", [str(tmp_path / "nothing")], tmp_path / "a.log", never)
    async with running(missing) as supervisor:
        await until(lambda: supervisor.status["a"].restarts >= 1, "a second try")
        assert "could not start" in supervisor.status["a"].last_exit


SUPERVISED = """
import asyncio, pathlib, sys
from cli.local_mesh.supervisor import Program, Supervisor

async def main():
    async def healthy():
        return True
    code = "import subprocess, pathlib, os, sys, time; c = subprocess.Popen(['sleep', '600']);"
    code += "pathlib.Path(sys.argv[1]).write_text(f'{os.getpid()} {c.pid}'); time.sleep(600)"
    names = ["a", "b"]
    def program(name):
        command = [sys.executable, "-S", "-c", code, f"{sys.argv[1]}/{name}.pids"]
        return Program(name, command, pathlib.Path(sys.argv[1], name + ".log"), healthy)
    programs = [program(name) for name in names]
    Supervisor(programs).start()
    await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_kill_9_of_the_supervisor_leaves_nothing_running(tmp_path: Path) -> None:
    supervisor = subprocess.Popen([sys.executable, "-c", SUPERVISED, str(tmp_path)])  # noqa: ASYNC220 - it only forks
    try:
        files = [tmp_path / "a.pids", tmp_path / "b.pids"]
        await until(lambda: all(f.exists() and len(f.read_text().split()) == 2 for f in files), "both started")
        pids = [int(pid) for f in files for pid in f.read_text().split()]
        assert all(alive(pid) for pid in pids)
    finally:
        supervisor.kill()
        supervisor.wait()
    await until(lambda: not any(alive(pid) for pid in pids), "all gone")


def test_a_long_log_is_moved_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MAX_LOG_BYTES", 10)
    log = tmp_path / "a.log"
    with log.open("ab", buffering=0) as writer:
        writer.write(b"eleven bytes")
        processes.bound_log(log)
        writer.write(b"more")
    assert log.read_bytes() == b"more"
    assert (tmp_path / "a.log.1").read_bytes() == b"eleven bytes"


def test_last_lines_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    assert processes.last_lines(log) == ""
    log.write_bytes("\n".join(f"line {n} 答" for n in range(1000)).encode() + b"\n\xff\n")
    assert processes.last_lines(log, 2) == "line 999 答\n\ufffd"
