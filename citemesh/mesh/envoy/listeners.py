"""A sidecar's two listeners: ingress for everyone else, egress for its own app. Both TCP, loopback on one machine."""

from __future__ import annotations

from citemesh.mesh.envoy.clusters import http2_windows
from citemesh.mesh.envoy.filters import cross_origin, egress_filters, ingress_filters, pages_call, tracing
from citemesh.mesh.envoy.replies import local_replies
from citemesh.mesh.envoy.routes import egress_routes, ingress_routes
from citemesh.mesh.envoy.types import Json, tcp, typed
from citemesh.mesh.placement import Placement
from citemesh.mesh.topology import Service, Topology

_MANAGER = "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"

# Envoy believes `x-envoy-*` of internal callers, and takes loopback and private networks for internal when
# no range is given. The broadcast address never calls.
_NOBODY = {"cidr_ranges": [{"address_prefix": "255.255.255.255", "prefix_len": 32}]}


def listeners(service: Service, topology: Topology, placement: Placement, inline: dict[str, Json]) -> list[Json]:
    """Both listeners of a service's sidecar."""
    return [_ingress(service, topology, placement, inline), _egress(service, topology, placement)]


def _ingress(service: Service, topology: Topology, placement: Placement, inline: dict[str, Json]) -> Json:
    manager = _manager("ingress", service, topology, placement) | {
        "codec_type": "AUTO" if service.http else "HTTP2",
        "http_filters": ingress_filters(service, placement, inline),
        "route_config": _ingress_routes(service, placement),
        "early_header_mutation_extensions": [_forget(["x-envoy-", "x-forwarded-"] if service.public else ["x-envoy-"])],
        "preserve_external_request_id": not service.public,
    }
    address = tcp(placement.listening_host, placement.port(service.ports.ingress))
    return _listener("ingress", service, address, manager)


def _egress(service: Service, topology: Topology, placement: Placement) -> Json:
    manager = _manager("egress", service, topology, placement) | {
        "codec_type": "HTTP2",
        "http_filters": egress_filters(service, topology),
        "route_config": _route_config("egress", egress_routes(service, topology)),
        "preserve_external_request_id": True,
    }
    return _listener("egress", service, tcp(placement.host, placement.port(service.ports.egress)), manager)


def _listener(side: str, service: Service, address: Json, manager: Json) -> Json:
    network_filter = {
        "name": "envoy.filters.network.http_connection_manager",
        "typed_config": typed(_MANAGER, **manager),
    }
    return {
        "name": side,
        "address": address,
        # With it two sidecars would share a port in silence, and calls land on the wrong one.
        "enable_reuse_port": False,
        "per_connection_buffer_limit_bytes": service.limits.buffer_bytes,
        "filter_chains": [{"filters": [network_filter]}],
    }


def _manager(side: str, service: Service, topology: Topology, placement: Placement) -> Json:
    outside = service.public and side == "ingress"
    manager: Json = {
        "stat_prefix": side,
        "generate_request_id": True,
        # The peer is who connected, whatever x-forwarded-for says; policies judge that address.
        "use_remote_address": True,
        "skip_xff_append": not outside,
        "internal_address_config": _NOBODY,
        "normalize_path": True,
        "merge_slashes": True,
        "path_with_escaped_slashes_action": "REJECT_REQUEST",
        "server_name": "citemesh",
        "request_headers_timeout": "10s",
        # A silent stream is not a dead one (a model may think); its whole life is bounded by the route.
        "stream_idle_timeout": "0s",
        "common_http_protocol_options": {
            "idle_timeout": "3600s",
            "headers_with_underscores_action": "REJECT_REQUEST" if outside else "ALLOW",
        },
        "http2_protocol_options": http2_windows(service.limits),
        "local_reply_config": local_replies(http=service.http and side == "ingress"),
        "access_log": [_access_log(side, service, placement)],
    }
    return manager | ({"tracing": tracing(side, service, topology)} if placement.otlp_endpoint else {})


def _ingress_routes(service: Service, placement: Placement) -> Json:
    config = _route_config("ingress", ingress_routes(service))
    if pages_call(service, placement):
        config["virtual_hosts"][0]["typed_per_filter_config"] = cross_origin(placement)
    return config


def _route_config(side: str, routes: list[Json]) -> Json:
    return {
        "name": side,
        "validate_clusters": True,
        "virtual_hosts": [{"name": side, "domains": ["*"], "routes": routes}],
    }


def _forget(prefixes: list[str]) -> Json:
    """Drops headers by which a caller could steer or deceive the sidecar."""
    mutations = [{"remove_on_match": {"key_matcher": {"prefix": prefix}}} for prefix in prefixes]
    config = typed("extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation", mutations=mutations)
    return {"name": "envoy.http.early_header_mutation.header_mutation", "typed_config": config}


def _access_log(side: str, service: Service, placement: Placement) -> Json:
    """One JSON line a call: no body, no query string, no header but the trace's."""
    line = {
        "time": "%START_TIME%",
        "side": side,
        "trace_id": "%TRACE_ID%",
        "traceparent": "%REQ(TRACEPARENT)%",
        "request_id": "%REQ(X-REQUEST-ID)%",
        "peer": "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS%",
        "protocol": "%PROTOCOL%",
        "method": "%REQ(:METHOD)%",
        "path": "%PATH(NQ)%",
        "status": "%RESPONSE_CODE%",
        "grpc_status": "%GRPC_STATUS%",
        "flags": "%RESPONSE_FLAGS%",
        "details": "%RESPONSE_CODE_DETAILS%",
        "upstream": "%UPSTREAM_CLUSTER%",
        "attempts": "%UPSTREAM_REQUEST_ATTEMPT_COUNT%",
        "bytes_in": "%BYTES_RECEIVED%",
        "bytes_out": "%BYTES_SENT%",
        "duration_ms": "%DURATION%",
    }
    config = typed(
        "extensions.access_loggers.file.v3.FileAccessLog",
        path=placement.access_log(service.name),
        log_format={"json_format": line},
    )
    return {"name": "envoy.access_loggers.file", "typed_config": config}
