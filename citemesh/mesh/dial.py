"""Where an app, or a caller on this machine, finds the services."""

from __future__ import annotations

from citemesh.mesh.placement import Placement
from citemesh.mesh.topology import Service, Topology, load_topology


def dial_targets(
    service_name: str, placement: Placement, mesh: bool = True, topology: Topology | None = None
) -> dict[str, str]:
    """The services a service may call, name to gRPC target.

    Through the mesh every target is the service's own sidecar, which tells calls apart by their path; without
    it, the other apps' unix sockets. `topology` is `deploy/mesh.yaml` when not given.

    Raises:
        InvalidInput: no such service.
    """
    topology = topology or load_topology()
    service = topology.service(service_name)
    if mesh:
        return dict.fromkeys(service.calls, placement.egress(service))
    return {name: f"unix:{placement.app_socket(name)}" for name in service.calls}


def _ingress_of(service: Service, placement: Placement, topology: Topology) -> str:
    caller = next((other for other in topology.services if service.name in other.calls), None)
    return placement.egress(caller) if service.sharded and caller else placement.ingress(service)


def ingress_targets(placement: Placement, mesh: bool = True, topology: Topology | None = None) -> dict[str, str]:
    """Every service's own ingress, name to gRPC target: for callers outside the mesh, who need a key.

    Where replicas share out what they keep, that is the egress of a sidecar that tells them apart; it asks for no
    key, and the replica that it finds does.
    """
    topology = topology or load_topology()
    if mesh:
        return {service.name: _ingress_of(service, placement, topology) for service in topology.services}
    return {name: f"unix:{placement.app_socket(name)}" for name in topology.service_names()}
