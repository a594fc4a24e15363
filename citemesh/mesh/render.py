"""Topology and placement in, Envoy's files out. The committed rendering is held by `check_all`."""

from __future__ import annotations

import difflib
from pathlib import Path

from citemesh.mesh.envoy.bootstrap import bootstrap
from citemesh.mesh.k8s.milvus import DIRECTORY, milvus_files
from citemesh.mesh.placement import Placement, find_identity_wasm
from citemesh.mesh.policy import ecds_document, identity_filter
from citemesh.mesh.text import replace_file, to_yaml
from citemesh.mesh.topology import Topology, load_topology

SAMPLE = "identity.ecds.sample.yaml"
"""An ECDS document with no key in it, rendered beside the bootstraps to show what a sidecar watches."""
COMMITTED = "deploy/envoy"
IMAGE_ROOT = "/app"
"""Where the project lies in its image."""
_HEADER = "# Rendered from deploy/mesh.yaml by `citemesh mesh render`. Do not edit.\n"
NO_KEYS = {
    "version": 1,
    "keys": [],
    "allow": ["127.0.0.0/8", "::1/128"],
    "public": ["/grpc.health.v1.Health/*"],
}
"""The smallest identity configuration: this machine may ask for health and for nothing else."""


def committed_placement() -> Placement:
    """The placement `deploy/envoy` is rendered for: defaults, relative paths, no tracing.

    Raises:
        PreconditionFailed: the identity policy's artefact is not in policies/dist.
    """
    return Placement(identity_wasm=find_identity_wasm())


def render_all(topology: Topology, placement: Placement) -> dict[str, str]:
    """Every service's bootstrap, file name to text. The same input gives the same bytes."""
    files = {
        f"{service.name}.yaml": _HEADER + to_yaml(bootstrap(service, topology, placement))
        for service in topology.sidecars()
    }
    if any("identity" in service.policies for service in topology.services):
        files[SAMPLE] = _HEADER + ecds_document("identity", identity_filter(placement, NO_KEYS))
    return files


def write_all(topology: Topology, placement: Placement, directory: Path) -> list[Path]:
    """Renders into a directory, each file replaced atomically; the paths written.

    Raises:
        OSError: the directory can't be written.
    """
    files = render_all(topology, placement)
    for name, text in files.items():
        replace_file(directory / name, text)
    return [directory / name for name in files]


def check_all(topology: Topology, placement: Placement, directory: Path) -> str:
    """What `write_all` would change there, as a unified diff; empty when nothing."""
    return _differences(render_all(topology, placement), directory)


def _differences(expected: dict[str, str], directory: Path) -> str:
    actual = {path.name: path.read_text(encoding="utf-8") for path in sorted(directory.glob("*.yaml"))}
    return "".join(
        _diff(name, actual.get(name), expected.get(name)) for name in sorted(expected.keys() | actual.keys())
    )


def write_runtime(topology: Topology, placement: Placement) -> list[Path]:
    """The bootstraps a placement's sidecars start from, and the directories they need, for the owner alone.

    Raises:
        OSError: a directory can't be made or written.
    """
    for directory in (placement.run_dir, placement.log_dir):
        Path(directory).mkdir(mode=0o700, parents=True, exist_ok=True)
    return write_all(topology, placement, Path(placement.config_file("x")).parent)


def _diff(name: str, actual: str | None, expected: str | None) -> str:
    if actual == expected:
        return ""
    old, new = (actual or "").splitlines(keepends=True), (expected or "").splitlines(keepends=True)
    before = f"committed/{name}" if actual is not None else "/dev/null"
    after = f"rendered/{name}" if expected is not None else "/dev/null"
    return "".join(difflib.unified_diff(old, new, before, after))


def render_cluster(topology: Topology, wasm: str) -> dict[str, str]:
    """Retrieval on Milvus for Kubernetes, file name to text. wasm: the policy's path in the project."""
    return {name: _HEADER + text for name, text in milvus_files(topology, f"{IMAGE_ROOT}/{wasm}").items()}


def write_committed(root: Path = Path()) -> list[Path]:
    """Renders everything that is committed, for this machine and for a cluster; the paths written.

    Raises:
        OSError: a directory can't be written.
    """
    topology, placement = load_topology(root / "deploy/mesh.yaml"), committed_placement()
    paths = write_all(topology, placement, root / COMMITTED)
    for name, text in render_cluster(topology, placement.identity_wasm).items():
        replace_file(root / DIRECTORY / name, text)
        paths.append(root / DIRECTORY / name)
    return paths


def check_committed(root: Path = Path()) -> str:
    """What `write_committed` would change, as a unified diff; empty when nothing."""
    topology, placement = load_topology(root / "deploy/mesh.yaml"), committed_placement()
    cluster = _differences(render_cluster(topology, placement.identity_wasm), root / DIRECTORY)
    return check_all(topology, placement, root / COMMITTED) + cluster
