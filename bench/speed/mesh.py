"""The part of the mesh that searches: the retrieval service with the real model, and the tokenizer it needs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bench.common.meshes import bench_mesh
from citemesh.client import Mesh
from citemesh.mesh.topology import Topology, load_topology
from cli.local_mesh.layout import StackOptions
from cli.local_mesh.stack import Stack

SERVICES = ("tokenizer", "retrieval")


def topology() -> Topology:
    """The project's mesh cut down to the services that search."""
    whole = load_topology()
    service_names = [whole.service(name) for name in SERVICES]
    return replace(
        whole, services=tuple(replace(it, calls=tuple(c for c in it.calls if c in SERVICES)) for it in service_names)
    )


@asynccontextmanager
async def searching_mesh(folder: Path) -> AsyncIterator[Stack]:
    """Started, with sidecars and the identity policy; it keeps no queries, as several sides may ask the same."""
    options = StackOptions(state_dir=folder, env={"CITEMESH_RETRIEVAL_CACHED_QUERIES": "0"})
    async with bench_mesh(options, topology()) as stack:
        yield stack


def outside(stack: Stack) -> Mesh:
    """A caller of the retrieval service's ingress, with the default key."""
    return Mesh({"retrieval": stack.targets["retrieval"]}, stack.key, 120.0)


def past_sidecar(stack: Stack) -> Mesh:
    """A caller of the retrieval service's socket."""
    return Mesh({"retrieval": f"unix:{Path(stack.layout.placement.app_socket('retrieval')).absolute()}"}, "", 120.0)
