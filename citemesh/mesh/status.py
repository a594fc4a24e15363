"""How the sidecars of a mesh are."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from citemesh.errors import DeadlineExceeded, Unavailable
from citemesh.mesh.envoy.admin import Admin
from citemesh.mesh.placement import Placement
from citemesh.mesh.policy import document_version
from citemesh.mesh.push import failures, live_version
from citemesh.mesh.topology import Service, Topology


@dataclass(frozen=True, slots=True)
class SidecarStatus:
    """One sidecar. When it does not answer, `fault` says how and the rest is empty."""

    service: str
    ready: bool
    """LIVE, and no policy it watches is missing or refused at start."""
    listeners: dict[str, str] = field(default_factory=dict)
    """Name to `host:port`."""
    clusters: dict[str, bool] = field(default_factory=dict)
    """Name to whether it has a healthy host; `app` is the service's own app."""
    policy_live: str = ""
    """Version of the identity policy that runs; empty when none."""
    policy_file: str = ""
    """Version of the file it watches; the same as `policy_live` when all is well."""
    policy_failures: int = 0
    """Policy updates refused since the sidecar started."""
    fault: str = ""


def mesh_status(topology: Topology, placement: Placement) -> tuple[SidecarStatus, ...]:
    """Every sidecar's status, in the topology's order. Never raises for a sidecar that is down; blocking."""
    return tuple(sidecar_status(service, placement) for service in topology.sidecars())


def sidecar_status(service: Service, placement: Placement) -> SidecarStatus:
    """One sidecar's status."""
    admin = Admin(placement.admin_socket(service.name), timeout_s=1.0)
    on_disk = _version_on_disk(service, placement)
    try:
        live = live_version(admin)
        return SidecarStatus(
            service=service.name,
            ready=admin.ready() and (bool(live) or "identity" not in service.policies),
            listeners=admin.listeners(),
            clusters=admin.clusters(),
            policy_live=live,
            policy_file=on_disk,
            policy_failures=failures(admin),
        )
    except (Unavailable, DeadlineExceeded) as error:
        return SidecarStatus(service.name, ready=False, policy_file=on_disk, fault=str(error))


def _version_on_disk(service: Service, placement: Placement) -> str:
    try:
        return document_version(Path(placement.policy_file(service.name, "identity")).read_text(encoding="utf-8"))
    except OSError:
        return ""
