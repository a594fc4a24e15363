"""A mesh on this machine, as an object: start it, ask it, hurt it, stop it.

async with running_stack(StackOptions(state_dir=directory, port_base=18080, fake=True)) as stack:
    async with stack.client() as mesh:
        ...
    stack.kill("generation")
    await stack.wait_ready()
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import functools
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import IO

from citemesh.client.mesh import Mesh
from citemesh.errors import CiteMeshError, DeadlineExceeded, PreconditionFailed, Unavailable
from citemesh.mesh.envoy.admin import Admin
from citemesh.mesh.envoy.binary import sidecar_command
from citemesh.mesh.identity import identity_config
from citemesh.mesh.policy import install_identity
from citemesh.mesh.render import write_runtime
from citemesh.mesh.topology import Topology
from cli.local_mesh.layout import SIDECAR, Layout, StackOptions
from cli.local_mesh.ports import check_ports
from cli.local_mesh.processes import MAX_LOG_BYTES, last_lines
from cli.local_mesh.runtime import Running, remove_note, write_note
from cli.local_mesh.supervisor import Program, Status, Supervisor

_POLL_S = 0.1
_FATAL_EXITS = 2
"""A program that ends so often before it was ever healthy will not get well by itself."""
_APP_STOP_S = 15.0
"""An app's own drain takes 10 s at most unless set otherwise."""


class Stack:
    """Five apps and, unless left out, their sidecars. One use only."""

    def __init__(self, options: StackOptions, topology: Topology | None = None) -> None:
        self.layout = Layout(options, topology)
        self.options = options
        self._lock: IO[str] | None = None
        self._apps = Mesh(
            {service_name: self.layout.app_address(service_name) for service_name in self.layout.service_names}
        )
        self._supervisor = Supervisor([])
        self.started = False
        """Whether programs were launched."""

    @property
    def targets(self) -> dict[str, str]:
        """gRPC address of every service for callers outside the mesh."""
        return self.layout.targets()

    @property
    def rest_url(self) -> str:
        """Base URL of the REST API."""
        return self.layout.rest_url()

    @property
    def key(self) -> str:
        """The default key's text."""
        return self.layout.keyring.default_key()

    @property
    def status(self) -> dict[str, Status]:
        """How each program is: apps by service, sidecars by `<service>-sidecar`."""
        return self._supervisor.status

    def pids(self) -> dict[str, int]:
        """Process id of each program; 0 while it doesn't run."""
        return {name: status.pid for name, status in self.status.items()}

    def restarts(self, program: str) -> int:
        """How often a program was started again."""
        return self.status[program].restarts

    def client(self, timeout_s: float = 60.0) -> Mesh:
        """A client from outside, with the default key."""
        return Mesh(self.targets, self.key, timeout_s, self.layout.shards())

    async def start(self) -> None:
        """Prepares and launches everything, without waiting for health.

        Raises:
            PreconditionFailed: a port is taken, another mesh has the directory, no Envoy.
            InvalidInput: the policy refuses the keys' configuration.
        """
        await asyncio.to_thread(self._prepare)
        self._supervisor = Supervisor(self._programs())
        self._supervisor.start()
        self.started = True
        write_note(self.options.state_dir, self._note())

    async def wait_ready(self, timeout_s: float | None = None) -> None:
        """Waits until every program is healthy and every sidecar sees its app.

        Raises:
            PreconditionFailed: a program ends again and again; its log's last lines are in the text.
            DeadlineExceeded: not in time; names what isn't ready.
        """
        limit_s = timeout_s or self.options.start_s
        try:
            async with asyncio.timeout(limit_s):
                while not await self.ready():
                    self._refuse_crashed()
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            late = [name for name, status in self.status.items() if status.state != "healthy"]
            fault = f"{', '.join(late) or 'a sidecar'} not ready within {limit_s:g} s"
            raise DeadlineExceeded(fault, f"the logs are in {self.layout.log_dir}") from None

    async def ready(self) -> bool:
        """Whether every program is healthy and every sidecar would pass calls to its app."""
        if not all(status.state == "healthy" for status in self.status.values()):
            return False
        if not self.options.mesh:
            return True
        return all(
            await asyncio.gather(
                *(asyncio.to_thread(self._sees_app, service_name) for service_name in self.layout.service_names)
            )
        )

    async def wait_restarted(self, program: str, old_pid: int, timeout_s: float = 60.0) -> None:
        """Waits until what `kill` killed runs anew, and the whole mesh is ready again. Raises as `wait_ready`."""
        try:
            async with asyncio.timeout(timeout_s):
                while self.status[program].pid in (0, old_pid):  # noqa: ASYNC110 - what others do is polled
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            raise DeadlineExceeded(f"{program} was not started again within {timeout_s:g} s") from None
        await self.wait_ready(timeout_s)

    def kill(self, program: str, number: int = signal.SIGKILL) -> int:
        """Crash a program (by default, by SIGKILL to its group); it is restarted. Answers the pid it had."""
        return self._supervisor.kill(program, number)

    def kill_all(self) -> None:
        """SIGKILL to everything, for when there is no time to drain; then `stop`."""
        self._supervisor.kill_all()

    async def stop(self) -> None:
        """Stops accepting calls, lets those in flight end, then stops everything."""
        if self.started:
            remove_note(self.options.state_dir)
        if self.started and self.options.mesh:
            with contextlib.suppress(CiteMeshError):
                await asyncio.to_thread(self._admin("gateway").drain)
        await self._supervisor.stop()
        await self._apps.__aexit__(None, None, None)
        if self._lock:
            self._lock.close()

    def _prepare(self) -> None:
        for directory in (self.layout.run_dir, self.layout.log_dir):
            directory.mkdir(parents=True, exist_ok=True)
            # The apps' sockets lie behind the policy: nobody else on this machine may reach them.
            directory.chmod(0o700)
        self._take_lock()
        check_ports(self.layout.ports())
        config = self.layout.keyring.ensure(self.layout.topology)
        if self.options.mesh:
            write_runtime(self.layout.topology, self.layout.placement)
            guarded = [service.name for service in self.layout.topology.sidecars() if "identity" in service.policies]
            install_identity(self.layout.placement, guarded, identity_config(config.keys, config.allow, config.public))

    def _take_lock(self) -> None:
        """One mesh a state directory; the lock goes with this process, however it ends."""
        file = self._lock = (self.layout.run_dir / "up.lock").open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            pid = file.read().strip() or "unknown"
            fault = f"a mesh already runs in {self.options.state_dir} (process {pid})"
            remedy = "use it, stop it with Ctrl-C where it runs, or choose another --state-dir and --port-base"
            raise PreconditionFailed("MESH_RUNNING", fault, remedy) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()

    def _programs(self) -> list[Program]:
        services = self.layout.service_names
        return [self._app(service_name) for service_name in services] + [
            self._sidecar(service_name) for service_name in services if self.options.mesh
        ]

    def _app(self, service_name: str) -> Program:
        return Program(
            name=service_name,
            command=self.layout.app_command(service_name),
            log=self.layout.log(service_name),
            healthy=functools.partial(self._apps.serving, service_name),
            env=self.layout.app_env(service_name),
            # Who calls others ends first, so that what it has in flight can still be answered.
            stop_phase=0 if service_name == "gateway" else 1,
            stop_s=_APP_STOP_S,
        )

    def _sidecar(self, service_name: str) -> Program:
        return Program(
            name=service_name + SIDECAR,
            command=sidecar_command(service_name, self.layout.placement),
            log=self.layout.log(service_name + SIDECAR),
            healthy=self._sidecar_health(service_name),
            env=self.layout.sidecar_env(),
            stop_phase=2,
            stop_s=5.0,
        )

    def _sidecar_health(self, service_name: str) -> Callable[[], Awaitable[bool]]:
        async def healthy() -> bool:
            return await asyncio.to_thread(self._tend, service_name)

        return healthy

    def _tend(self, service_name: str) -> bool:
        """Whether a sidecar is ready; on the way, keep its access log within bounds."""
        log = Path(self.layout.placement.access_log(service_name))
        try:
            if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
                log.replace(log.with_name(log.name + ".1"))
                self._admin(service_name).reopen_logs()
            return self._admin(service_name).ready()
        except (Unavailable, DeadlineExceeded):
            return False

    def _sees_app(self, service_name: str) -> bool:
        try:
            return self._admin(service_name).clusters().get("app", False)
        except (Unavailable, DeadlineExceeded):
            return False

    def _admin(self, service_name: str) -> Admin:
        return Admin(self.layout.placement.admin_socket(service_name))

    def _refuse_crashed(self) -> None:
        for name, status in self.status.items():
            if status.exits_before_health >= _FATAL_EXITS:
                log = self.layout.log(name)
                fault = f"{name} {status.last_exit}; the end of its log:\n{last_lines(log)}"
                raise PreconditionFailed("SERVICE_CRASHED", fault, f"the whole log is {log}")

    def _note(self) -> Running:
        shards = self.layout.shards()
        return Running(os.getpid(), self.options.mesh, self.options.port_base, self.targets, self.rest_url, shards)


@contextlib.asynccontextmanager
async def running_stack(options: StackOptions, topology: Topology | None = None) -> AsyncIterator[Stack]:
    """A mesh that is ready, and gone afterwards. Raises as `Stack.start` and `Stack.wait_ready`."""
    stack = Stack(options, topology)
    try:
        await stack.start()
        await stack.wait_ready()
        yield stack
    finally:
        await stack.stop()
