"""`citemesh up` in a process of its own, with fake services: what it tells, how it ends, what it leaves."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.free_ports import free_base

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
DEADLINE_S = 60.0


class Up:
    """A running `citemesh up --json`."""

    def __init__(self, directory: Path, *arguments: str, env: dict[str, str] | None = None) -> None:
        command = [sys.executable, str(HERE / "run_up.py"), "up", "--json", "--fake", "--no-ingest", *arguments]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CITEMESH_")}
        self.process = subprocess.Popen(
            command, cwd=directory, env=clean | (env or {}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.events: list[dict[str, Any]] = []

    def read_until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first event that is wanted; the test's own time limit bounds the wait."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line))
            if wanted(self.events[-1]):
                return self.events[-1]
        raise AssertionError(
            f"it ended before: {self.events[-3:]} {self.process.stderr and self.process.stderr.read()}"
        )

    def ready(self) -> dict[str, int]:
        """Wait until it is; the pids of what it started."""
        pids: dict[str, int] = self.read_until(lambda event: event["event"] == "ready")["pids"]
        return pids

    def end(self) -> int:
        """Wait for its end; the exit status."""
        self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Callable[..., Up]]:
    started: list[Up] = []

    def start(*arguments: str, env: dict[str, str] | None = None) -> Up:
        started.append(Up(tmp_path, "--no-mesh", "--port-base", str(free_base()), *arguments, env=env))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pids: dict[str, int]) -> None:
    end = time.monotonic() + 10
    while any(alive(pid) for pid in pids.values()):
        assert time.monotonic() < end, "something still runs"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_everything_and_that_is_no_failure(up: Callable[..., Up], number: int) -> None:
    running = up()
    pids = running.ready()
    assert all(alive(pid) for pid in pids.values())
    running.process.send_signal(number)
    running.read_until(lambda event: event["event"] == "stopped")
    assert running.end() == 0
    assert not any(alive(pid) for pid in pids.values())


def test_a_signal_while_it_starts_stops_it_too(up: Callable[..., Up]) -> None:
    running = up()
    pid = running.read_until(lambda event: event["event"] == "state" and event["pid"])["pid"]
    running.process.send_signal(signal.SIGINT)
    running.read_until(lambda event: event["event"] == "stopped")
    assert running.end() == 0
    assert not alive(pid)


def test_a_second_ctrl_c_does_not_wait(up: Callable[..., Up]) -> None:
    running = up(env={"FAKE_SERVICE_DEAF": "generation"})
    pids = running.ready()
    running.process.send_signal(signal.SIGINT)
    running.read_until(lambda event: event["event"] == "stopping")
    began = time.monotonic()
    running.process.send_signal(signal.SIGINT)
    assert running.end() == 0
    assert time.monotonic() - began < 10, "it waited for the drain's 15 s"
    assert not any(alive(pid) for pid in pids.values())


def test_kill_9_leaves_nothing_running_and_the_next_start_works(up: Callable[..., Up], tmp_path: Path) -> None:
    running = up()
    pids = running.ready()
    running.process.kill()
    running.end()
    gone(pids)
    assert (tmp_path / ".citemesh/run/mesh.json").exists()
    again = up()
    again.ready()
    again.process.send_signal(signal.SIGINT)
    assert again.end() == 0


def test_a_crash_is_told_and_mended(up: Callable[..., Up]) -> None:
    running = up()
    pids = running.ready()
    os.kill(pids["generation"], signal.SIGKILL)
    told = running.read_until(lambda event: event.get("state") == "backing-off")
    assert (told["program"], told["last_exit"]) == ("generation", "was ended by SIGKILL")
    told = running.read_until(lambda event: event.get("state") == "healthy" and event["restarts"] == 1)
    assert told["pid"] != pids["generation"]


def test_a_service_that_cannot_start_ends_it_with_the_reason(up: Callable[..., Up]) -> None:
    running = up(env={"FAKE_SERVICE_CRASHES": "tokenizer"})
    told = running.read_until(lambda event: event["event"] == "error")
    assert told["reason"] == "SERVICE_CRASHED"
    assert "no setting has this name" in told["message"]
    assert told["remedy"].endswith("tokenizer.log")
    assert running.end() == 1


def test_a_taken_port_names_its_holder(up: Callable[..., Up], tmp_path: Path) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        running = Up(tmp_path, "--no-mesh", "--port-base", str(port))
        told = running.read_until(lambda event: event["event"] == "error")
        assert f"port {port} (gateway gRPC) is taken by process {os.getpid()}" in told["message"]
        assert running.end() == 1


def test_a_second_one_in_the_same_directory_is_refused(up: Callable[..., Up]) -> None:
    first = up()
    first.ready()
    second = up()
    told = second.read_until(lambda event: event["event"] == "error")
    assert f"process {first.process.pid}" in told["message"]
    assert second.end() == 1


def test_lines_for_a_log_end_with_how_to_ask(tmp_path: Path) -> None:
    command = [sys.executable, str(HERE / "run_up.py"), "up", "--fake", "--no-ingest", "--no-mesh"]
    process = subprocess.Popen(
        [*command, "--port-base", str(free_base())], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("Ctrl-C"):
            process.send_signal(signal.SIGINT)
    assert process.wait(DEADLINE_S) == 0
    text = "".join(lines)
    assert "tokenizer: healthy\n" in text
    assert "citemesh ask" in text
    assert "\x1b" not in text
    assert lines[-1] == "Stopped.\n"
