"""A real mesh for the tests: sidecars, and a killable app behind each."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from citemesh.errors import DeadlineExceeded, Unavailable
from citemesh.mesh.envoy.admin import Admin
from citemesh.mesh.envoy.binary import sidecar_command
from citemesh.mesh.placement import Placement, find_identity_wasm
from citemesh.mesh.topology import Topology

HERE = Path(__file__).parent
READY_S = 20.0


def without_policies(topology: Topology) -> Topology:
    """The topology with open doors, for what has nothing to do with policies."""
    open_doors = tuple(dataclasses.replace(service, policies=()) for service in topology.services)
    return dataclasses.replace(topology, services=open_doors)


def wait_until(condition: Callable[[], bool], what: str, deadline_s: float = READY_S) -> None:
    """Poll until true.

    Raises:
        TimeoutError: naming `what` never came true.
    """
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {deadline_s:g} s")
        time.sleep(0.02)


def find_policy() -> str:
    """The committed identity policy, as an absolute path."""
    return find_identity_wasm(HERE.parents[2] / "policies")


class RunningMesh:
    """Sidecars and apps of one placement; everything started here is ended here."""

    def __init__(self, topology: Topology, placement: Placement) -> None:
        self.topology = topology
        self.placement = placement
        self._processes: list[subprocess.Popen[str]] = []
        self.apps: dict[str, subprocess.Popen[str]] = {}
        self.sidecars: dict[str, subprocess.Popen[str]] = {}

    def admin(self, service_name: str) -> Admin:
        return Admin(self.placement.admin_socket(service_name))

    def start_app(self, service_name: str) -> None:
        service = self.topology.service(service_name)
        sockets = [self.placement.app_socket(service_name)] + (
            [self.placement.http_socket(service_name)] if service.http else []
        )
        for path in sockets:
            Path(path).unlink(missing_ok=True)
        app = self._spawn([sys.executable, str(HERE / "fake_app.py"), *sockets], stdout=subprocess.PIPE)
        assert app.stdout is not None
        assert app.stdout.readline() == "ready\n"
        self.apps[service_name] = app

    def kill_app(self, service_name: str) -> None:
        self.apps[service_name].kill()
        self.apps[service_name].wait(5)

    def start_sidecars(self) -> None:
        for service_name in self.topology.service_names():
            self.sidecars[service_name] = self._spawn(sidecar_command(service_name, self.placement), stdout=None)
        for service_name in self.topology.service_names():
            wait_until(lambda service_name=service_name: self._ready(service_name), f"sidecar of {service_name}")  # type: ignore[misc]  # default binds

    def wait_healthy(self, service_name: str, healthy: bool = True) -> None:
        wait_until(
            lambda: self.admin(service_name).clusters()["app"] is healthy, f"health of {service_name} being {healthy}"
        )

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.kill()
        for process in self._processes:
            process.wait(5)

    def _spawn(self, command: list[str], stdout: int | None) -> subprocess.Popen[str]:
        process = subprocess.Popen(command, stdout=stdout, text=True)
        self._processes.append(process)
        return process

    def _ready(self, service_name: str) -> bool:
        assert self.sidecars[service_name].poll() is None, (
            f"the sidecar of {service_name} ended; see its messages above"
        )
        with contextlib.suppress(Unavailable, DeadlineExceeded):
            return self.admin(service_name).ready()
        return False


@dataclasses.dataclass
class Guarded:
    """A mesh with the identity policy, the policy's configuration and a key that may call everything."""

    mesh: RunningMesh
    config: dict[str, Any]
    key: str


def free_base(offsets: list[int]) -> int:
    """A port base at which every offset is free just now."""
    for _ in range(100):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            base: int = probe.getsockname()[1]
        if base + max(offsets) < 65_535 and all(_free(base + offset) for offset in offsets):
            return base
    raise RuntimeError("no free range of ports")


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def place(topology: Topology, directory: Path, **other: object) -> Placement:
    """A placement under a temporary directory, on free ports."""
    offsets = [port for s in topology.sidecars() for port in (s.ports.ingress, s.ports.egress)]
    placement = Placement(f"{directory}/run", f"{directory}/log", free_base(offsets))
    return dataclasses.replace(placement, **other)  # type: ignore[arg-type]  # the caller names Placement's fields
