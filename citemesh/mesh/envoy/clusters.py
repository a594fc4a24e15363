"""Where a sidecar can send a call: its own app, the other sidecars, the trace collector."""

from __future__ import annotations

import ipaddress

from citemesh.mesh.envoy.routes import SHARD_HEADER, peer_cluster, shard_cluster
from citemesh.mesh.envoy.types import Json, pipe, tcp, typed
from citemesh.mesh.placement import Placement, split_endpoint
from citemesh.mesh.topology import Service, ServiceLimits, Topology

CONNECTION_WINDOWS = 16
"""HTTP/2 connection window, in stream windows: one slow stream can't hold up the others."""
_HTTP_OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"


def clusters(service: Service, topology: Topology, placement: Placement) -> list[Json]:
    """All clusters of a service's sidecar."""
    rendered = [_app(service, placement), _app_probe(service, placement)]
    if service.http:
        rendered.append(_app_http(service, placement))
    for name in service.calls:
        callee = topology.service(name)
        rendered += _shards(callee, placement) if callee.sharded else [_peer(callee, placement)]
    if placement.otlp_endpoint:
        rendered.append(_otlp(placement.otlp_endpoint))
    return rendered


def http2_windows(limits: ServiceLimits) -> Json:
    """HTTP/2 options both ends of a hop share; sizes follow `buffer_bytes`.

    Twice the calls in flight are let in: one too many is then refused by the circuit breaker, where a lower
    number would make it wait inside its caller's HTTP/2 library, unseen.
    """
    return {
        "max_concurrent_streams": 2 * limits.max_concurrent,
        "initial_stream_window_size": limits.buffer_bytes,
        "initial_connection_window_size": limits.buffer_bytes * CONNECTION_WINDOWS,
    }


def _app(service: Service, placement: Placement) -> Json:
    """The app's RPCs. A dead or NOT_SERVING app is refused here at once, with UNAVAILABLE."""
    health = {
        "timeout": "2s",
        "interval": "1s",
        "no_traffic_interval": "1s",
        "unhealthy_interval": "0.25s",
        "no_traffic_healthy_interval": "1s",
        # A killed app refuses connections, which is noticed at once; silence may be a busy machine: ask again.
        "unhealthy_threshold": 3,
        "healthy_threshold": 1,
        "grpc_health_check": {},
    }
    return _cluster("app", [pipe(placement.app_socket(service.name))], service.limits) | {
        "typed_extension_protocol_options": _http2(service.limits),
        "health_checks": [health],
        # No panic: one dead app is 100 % of its cluster, and sending to it anyway would only be slower.
        "common_lb_config": {"healthy_panic_threshold": {"value": 0}},
    }


def _app_probe(service: Service, placement: Placement) -> Json:
    """Health, reflection and channelz: asked of the app itself, so that NOT_SERVING is an answer and not a
    refusal.
    """
    return _cluster("app_probe", [pipe(placement.app_socket(service.name))], service.limits) | {
        "typed_extension_protocol_options": _http2(service.limits)
    }


def _app_http(service: Service, placement: Placement) -> Json:
    return _cluster("app_http", [pipe(placement.http_socket(service.name))], service.limits)


# Sidecars answer pings; an app (gRPC's C core) would take them for abuse, so its clusters send none.
_KEEPALIVE: Json = {"connection_keepalive": {"interval": "30s", "timeout": "5s"}}


def _peer(callee: Service, placement: Placement) -> Json:
    """Another service's sidecar, or any of its replicas'."""
    addresses = [tcp(placement.host, placement.port(replica.ports.ingress)) for replica in callee.each()]
    return _cluster(peer_cluster(callee), addresses, callee.limits) | {
        "typed_extension_protocol_options": _http2(callee.limits, _KEEPALIVE),
        # With several replicas the failing one is set aside; a lone one never is (half the hosts at most).
        "outlier_detection": {
            "consecutive_gateway_failure": 5,
            "enforcing_consecutive_gateway_failure": 100,
            "consecutive_5xx": 10,
            "interval": "1s",
            "base_ejection_time": "2s",
            "max_ejection_time": "30s",
            "max_ejection_percent": 50,
        },
    }


def _shards(callee: Service, placement: Placement) -> list[Json]:
    """Replicas of which each keeps its share: a ring of all, for calls whose header finds the one, and each alone."""
    addresses = [tcp(placement.host, placement.port(replica.ports.ingress)) for replica in callee.each()]
    ring = _shard_cluster(peer_cluster(callee), dict(enumerate(addresses)), callee.limits) | {
        "lb_policy": "RING_HASH",
        "ring_hash_lb_config": {"minimum_ring_size": 4096},
    }
    alone = [
        _shard_cluster(shard_cluster(callee, number), {number: address}, callee.limits)
        for number, address in enumerate(addresses)
    ]
    return [ring, *alone]


def _shard_cluster(name: str, addresses: dict[int, Json], limits: ServiceLimits) -> Json:
    """Hosts that are never set aside, however they fail: what one of them keeps, no other has.

    A host's place on the ring follows from its number, so that it is the same on every machine; the call carries the
    number on, and a replica refuses what was not meant for it.
    """
    endpoints = [
        {"endpoint": {"address": address}, "metadata": {"filter_metadata": {"envoy.lb": {"hash_key": str(number)}}}}
        for number, address in addresses.items()
    ]
    return _cluster(name, [], limits) | {
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": endpoints}]},
        "typed_extension_protocol_options": _http2(limits, _KEEPALIVE, [_name_shard(), _CODEC]),
    }


def _name_shard() -> Json:
    header = {"key": SHARD_HEADER, "value": "%UPSTREAM_METADATA(envoy.lb:hash_key)%"}
    mutation = {"append": {"header": header, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}}
    mutations = {"request_mutations": [mutation]}
    config = typed("extensions.filters.http.header_mutation.v3.HeaderMutation", mutations=mutations)
    return {"name": "envoy.filters.http.header_mutation", "typed_config": config}


_CODEC: Json = {
    "name": "envoy.filters.http.upstream_codec",
    "typed_config": typed("extensions.filters.http.upstream_codec.v3.UpstreamCodec"),
}


def _otlp(endpoint: str) -> Json:
    host, port = split_endpoint(endpoint)
    return {
        "name": "otlp",
        "type": "STATIC" if _is_address(host) else "STRICT_DNS",
        "connect_timeout": "1s",
        "load_assignment": _hosts("otlp", [tcp(host, port)]),
        "typed_extension_protocol_options": {_HTTP_OPTIONS: _options({"http2_protocol_options": {}})},
    }


def _cluster(name: str, addresses: list[Json], limits: ServiceLimits) -> Json:
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "1s",
        "per_connection_buffer_limit_bytes": limits.buffer_bytes,
        "circuit_breakers": {"thresholds": [_threshold(limits)]},
        "load_assignment": _hosts(name, addresses),
    }


def _threshold(limits: ServiceLimits) -> Json:
    return {
        "max_connections": limits.max_concurrent,
        "max_pending_requests": limits.max_concurrent,
        "max_requests": limits.max_concurrent,
        "retry_budget": {"budget_percent": {"value": 20}, "min_retry_concurrency": 3},
        "track_remaining": True,
    }


def _hosts(name: str, addresses: list[Json]) -> Json:
    endpoints = [{"endpoint": {"address": address}} for address in addresses]
    return {"cluster_name": name, "endpoints": [{"lb_endpoints": endpoints}]}


def _http2(limits: ServiceLimits, extra: Json | None = None, filters: list[Json] | None = None) -> Json:
    options = _options({"http2_protocol_options": http2_windows(limits) | (extra or {})})
    return {_HTTP_OPTIONS: options | ({"http_filters": filters} if filters else {})}


def _options(explicit: Json) -> Json:
    return typed("extensions.upstreams.http.v3.HttpProtocolOptions", explicit_http_config=explicit)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
