"""One sidecar's whole configuration."""

from __future__ import annotations

from collections.abc import Mapping

from citemesh.mesh.envoy.clusters import clusters
from citemesh.mesh.envoy.listeners import listeners
from citemesh.mesh.envoy.types import Json, pipe, typed
from citemesh.mesh.placement import Placement
from citemesh.mesh.topology import Service, Topology


def bootstrap(
    service: Service, topology: Topology, placement: Placement, inline: Mapping[str, Json] | None = None
) -> Json:
    """The bootstrap of a service's sidecar.

    Args:
        inline: policy name to filter configuration, put into the listener in place of the watched file; this
        is what
            `envoy --mode validate` can see, since it follows no files.
    """
    config: Json = {
        "node": {"id": service.name, "cluster": "citemesh"},
        "admin": {"address": pipe(placement.admin_socket(service.name), mode=0o600)},
        "static_resources": {
            "listeners": listeners(service, topology, placement, dict(inline or {})),
            "clusters": clusters(service, topology, placement),
        },
        "overload_manager": _overload(service),
    }
    if placement.otlp_endpoint:
        # Envoy's default of five seconds makes whoever looks for a trace wait.
        spans = {"name": "spans", "static_layer": {"tracing.opentelemetry.flush_interval_ms": 1_000}}
        config["layered_runtime"] = {"layers": [spans]}
    return config


def _overload(service: Service) -> Json:
    """Connections are bounded like calls: twice as many, since an HTTP/1.1 caller keeps idle ones."""
    monitor = typed(
        "extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig",
        max_active_downstream_connections=2 * service.limits.max_concurrent,
    )
    return {
        "resource_monitors": [
            {"name": "envoy.resource_monitors.global_downstream_max_connections", "typed_config": monitor}
        ]
    }
