"""Fixtures of the mesh tests: `pair` runs the golden `pair` topology on free ports, with an app behind each
sidecar.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from citemesh.mesh.identity import identity_config, new_key
from citemesh.mesh.policy import install_identity
from citemesh.mesh.render import write_runtime
from citemesh.mesh.topology import Topology, load_topology

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # the harness lies beside the tests, whatever pytest's import mode

from mesh_harness import Guarded, RunningMesh, find_policy, place, without_policies  # noqa: E402 - needs the path above


@pytest.fixture
def short_dir() -> Iterator[Path]:
    """A directory whose path leaves room for a socket's name."""
    with tempfile.TemporaryDirectory(prefix="cm-") as directory:
        yield Path(directory)


@pytest.fixture
def pair_topology() -> Topology:
    return load_topology(HERE / "golden/pair/in/mesh.yaml")


@pytest.fixture
def pair(pair_topology: Topology, short_dir: Path) -> Iterator[RunningMesh]:
    """`front` calls `back`; no policies."""
    topology = without_policies(pair_topology)
    mesh = RunningMesh(topology, place(topology, short_dir))
    write_runtime(topology, mesh.placement)
    try:
        for service in topology.service_names():
            mesh.start_app(service)
        mesh.start_sidecars()
        yield mesh
    finally:
        mesh.stop()


@pytest.fixture
def guarded(pair_topology: Topology, short_dir: Path) -> Iterator[Guarded]:
    """`pair` with the committed identity policy."""
    mesh = RunningMesh(pair_topology, place(pair_topology, short_dir, identity_wasm=find_policy()))
    key, record = new_key("user:ann", "default", ["*"])
    config = identity_config([record], ["127.0.0.0/8"], ["/grpc.health.v1.Health/*"])
    write_runtime(pair_topology, mesh.placement)
    install_identity(mesh.placement, pair_topology.service_names(), config)
    try:
        for service in pair_topology.service_names():
            mesh.start_app(service)
        mesh.start_sidecars()
        yield Guarded(mesh, config, key)
    finally:
        mesh.stop()
