"""Fixtures of the mesh tests: `pair` runs the golden `pair` topology on free ports, with an app behind each
sidecar.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from citemesh.mesh.render import write_runtime
from citemesh.mesh.topology import Topology, load_topology

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # the harness lies beside the tests, whatever pytest's import mode

from mesh_harness import RunningMesh, place, without_policies  # noqa: E402 - needs the path above


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
        for room in topology.rooms():
            mesh.start_app(room)
        mesh.start_sidecars()
        yield mesh
    finally:
        mesh.stop()
