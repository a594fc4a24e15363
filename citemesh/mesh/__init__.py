"""Topology to Envoy configuration, and the sidecars that run it. Imports no grpc.

    topology = load_topology()                                  # deploy/mesh.yaml, strict
    placement = Placement(identity_wasm=find_identity_wasm())   # directories, ports, endpoints of this machine

    render_all(topology, placement) -> {file name: text}        # pure
    write_all(topology, placement, directory) -> [Path]         # atomically
    check_all(topology, placement, directory) -> str            # a unified diff; "" when nothing differs
    committed_placement(), COMMITTED, check_committed(root)     # what deploy/envoy is rendered for
    write_runtime(topology, placement) -> [Path]                # <run>/envoy/<service>.yaml, and directories

    validate_all(topology, placement, {"identity": identity_filter(placement, config)})
        -> {service: Verdict(ok, message)}                         # by Envoy itself, policies inline

    install_identity(placement, services, config) -> version       # before the sidecars start
    push_identity(placement, services, config, deadline_s=10.0)    # under traffic
        -> PushReport(version, services=(ServiceReport(service, outcome, reason), ...)), .ok

    sidecar_command(service, placement) -> [str]                   # its cwd is what the paths are relative to
    Admin(placement.admin_socket(service)).ready()
    mesh_status(topology, placement) -> (SidecarStatus, ...)

    dial_targets(service, placement, mesh=True) -> {service: gRPC target}   # for an app
    ingress_targets(placement, mesh=True) -> {service: gRPC target}      # for callers outside the mesh

Order of a start: `write_runtime`, `install_identity`, then the sidecars and apps in any order: a sidecar whose app
is not there yet answers UNAVAILABLE and finds it within a quarter second of its coming.

Everything raises `citemesh.errors` only, but for `OSError` where files are written. What waits has a deadline and
blocks: call it in a thread from async code.
"""

from citemesh.mesh.dial import dial_targets, ingress_targets
from citemesh.mesh.envoy.admin import Admin
from citemesh.mesh.envoy.binary import find_envoy, sidecar_command
from citemesh.mesh.placement import Placement, find_identity_wasm
from citemesh.mesh.policy import identity_filter, install_identity
from citemesh.mesh.push import PushReport, ServiceReport, push_identity
from citemesh.mesh.render import (
    COMMITTED,
    check_all,
    check_committed,
    committed_placement,
    render_all,
    write_all,
    write_runtime,
)
from citemesh.mesh.status import SidecarStatus, mesh_status, sidecar_status
from citemesh.mesh.topology import Topology, load_topology
from citemesh.mesh.validate import Verdict, validate_all

__all__ = [
    "COMMITTED",
    "Admin",
    "Placement",
    "PushReport",
    "ServiceReport",
    "SidecarStatus",
    "Topology",
    "Verdict",
    "check_all",
    "check_committed",
    "committed_placement",
    "dial_targets",
    "find_envoy",
    "find_identity_wasm",
    "identity_filter",
    "ingress_targets",
    "install_identity",
    "load_topology",
    "mesh_status",
    "push_identity",
    "render_all",
    "sidecar_command",
    "sidecar_status",
    "validate_all",
    "write_all",
    "write_runtime",
]
