"""A mesh that runs in a thread of its own, so that each test may have its own event loop."""

import asyncio
import random
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from citemesh.client import Mesh
from citemesh.mesh import Topology
from cli.local_mesh.layout import StackOptions
from cli.local_mesh.ports import why_taken
from cli.local_mesh.stack import Stack

T = TypeVar("T")
# Longer than any start on a slow machine: the limit that matters is the stack's own.
CALL_S = 600.0
OFFSETS = (0, *range(101, 105), *range(110, 115), 202, 212)  # the last two are those of a second retrieval


class RunningMesh:
    """Handle of a started stack. Its methods may be called from any thread."""

    def __init__(self, options: StackOptions, topology: Topology | None = None) -> None:
        self.stack = Stack(options, topology)
        self.options = options
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the stack's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_S)

    async def acall(self, work: Coroutine[Any, Any, T]) -> T:
        """As call, from another loop."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def start(self) -> None:
        """Starts everything and waits until it answers."""
        self.call(self._start())

    async def _start(self) -> None:
        await self.stack.start()
        await self.stack.wait_ready()

    def stop(self) -> None:
        """Stops everything."""
        try:
            self.call(self.stack.stop())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)
            self._loop.close()

    async def kill(self, program: str) -> None:
        """kill -9, as seen by everyone else."""

        async def strike() -> None:
            self.stack.kill(program)

        await self.acall(strike())

    async def ready(self, program: str = "", restarts: int = 0, within_s: float = 180.0) -> None:
        """Waits until everything answers and ``program`` was restarted at least so often."""

        async def wait() -> None:
            async with asyncio.timeout(within_s):
                while program and self.stack.restarts(program) < restarts:
                    await asyncio.sleep(0.05)
            await self.stack.wait_ready(within_s)

        await self.acall(wait())

    def restarts(self, program: str) -> int:
        """How often a program was started again."""
        return self.stack.restarts(program)

    def client(self, key: str | None = None, timeout_s: float = 60.0) -> Mesh:
        """A caller outside of the mesh, by default with the default key."""
        shards = self.stack.layout.shards()
        return Mesh(self.stack.targets, self.stack.key if key is None else key, timeout_s, shards)

    def insider(self) -> Mesh:
        """A caller that shows the gateway's own key, so that inner services answer it."""
        key = self.stack.layout.keyring.service_key_file("gateway").read_text().strip()
        return Mesh(self.stack.targets, key)


def free_base() -> int:
    """A port base whose ports are all free, below the range that the kernel hands out by itself."""
    for base in random.sample(range(12_000, 31_000, 200), 40):
        if not any(why_taken(base + offset, "127.0.0.1") for offset in OFFSETS):
            return base
    raise RuntimeError("no free range of ports found")


@contextmanager
def running_mesh(state: Path, topology: Topology | None = None, **options: Any) -> Iterator[RunningMesh]:
    """A started mesh, and its end."""
    running = RunningMesh(StackOptions(state_dir=state, port_base=free_base(), **options), topology)
    try:
        running.start()
        yield running
    finally:
        running.stop()
