"""Meshes of a bench's own: another state directory and other ports than those of whoever works here."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

from citemesh.client import Mesh
from citemesh.errors import PreconditionFailed
from citemesh.mesh.dial import dial_targets
from citemesh.mesh.topology import Topology
from cli.local_mesh.layout import Layout, StackOptions
from cli.local_mesh.ports import why_taken
from cli.local_mesh.stack import Stack, running_stack

BASES = range(21080, 32000, 500)


@contextmanager
def state_dir() -> Iterator[Path]:
    """A directory with a short path, since sockets lie in it; gone afterwards."""
    path = Path(tempfile.mkdtemp(prefix="cm-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@asynccontextmanager
async def bench_mesh(options: StackOptions, topology: Topology | None = None) -> AsyncIterator[Stack]:
    """A started mesh on the first free ports. Raises PreconditionFailed where none are free."""
    async with running_stack(replace(options, port_base=free_base(options, topology)), topology) as stack:
        yield stack


def free_base(options: StackOptions, topology: Topology | None = None) -> int:
    """The first port base whose ports are all free."""
    for base in BASES:
        layout = Layout(replace(options, port_base=base), topology)
        if not any(why_taken(port) for port in layout.ports().values()):
            return base
    fault = f"no free ports from {BASES.start} to {BASES.stop}"
    raise PreconditionFailed("PORT_TAKEN", fault, "end the meshes that benches left behind")


def insider(stack: Stack, service: str, timeout_s: float = 60.0) -> Mesh:
    """A caller in a service's place: through the service's own sidecar, with the service's key."""
    targets = dial_targets(service, stack.layout.placement, True, stack.layout.topology)
    return Mesh(targets, service_key(stack, service), timeout_s)


def direct(stack: Stack, service: str, timeout_s: float = 60.0) -> Mesh:
    """A caller of the apps' own sockets, past all sidecars; shows the service's key as it does otherwise."""
    targets = {name: stack.layout.app_address(name) for name in stack.layout.service_names}
    return Mesh(targets, service_key(stack, service), timeout_s)


def service_key(stack: Stack, service: str) -> str:
    """The key that a service shows to others."""
    return stack.layout.keyring.service_key_file(service).read_text(encoding="ascii").strip()


def sidecar_pids(stack: Stack, services: tuple[str, ...]) -> list[int]:
    """Process ids of sidecars."""
    pids = stack.pids()
    return [pids[f"{service}-sidecar"] for service in services]
