"""The HTTP filters of a sidecar, in the order a call meets them."""

from __future__ import annotations

from itertools import groupby

from citemesh.mesh.envoy.types import Json, duration, typed
from citemesh.mesh.placement import Placement
from citemesh.mesh.topology import Method, Service, Topology

IDENTITY = "citemesh.identity"
"""Name of the ECDS filter; it is part of its statistics' names."""
_CORS = "envoy.filters.http.cors"
_WASM = "extensions.filters.http.wasm.v3.Wasm"


def ingress_filters(service: Service, placement: Placement, inline: dict[str, Json]) -> list[Json]:
    """Filters before an app. `inline` maps a policy to its filter configuration, instead of watching a
    file.
    """
    # First of all: a browser's preflight carries no key, and a refusal must tell a page what it was.
    filters = [_cors()] if pages_call(service, placement) else []
    filters += [_rate_limit(service)] if service.limits.rate_per_s else []
    filters += [_policy(service, policy, placement, inline) for policy in service.policies]
    filters.append(_grpc_stats(service.methods))
    if service.http:
        filters.append(_body_limit(service))
    return [*filters, _router(quiet=service.public)]


def egress_filters(service: Service, topology: Topology) -> list[Json]:
    """Filters of what an app calls."""
    methods = tuple(method for name in service.calls for method in topology.service(name).methods)
    router = _router(quiet=True)
    return [_grpc_stats(methods), router] if methods else [router]


def pages_call(service: Service, placement: Placement) -> bool:
    """Whether pages of other origins may call the service."""
    return service.public and service.http and bool(placement.origins)


def cross_origin(placement: Placement) -> Json:
    """What a virtual host says of other origins. No cookies are taken: a page must send the key itself.

    A wildcard stands for all headers but `authorization` (Fetch standard, "CORS protocol and credentials").
    """
    policy = typed(
        "extensions.filters.http.cors.v3.CorsPolicy",
        allow_origin_string_match=[{"exact": origin} for origin in placement.origins],
        allow_methods="GET, POST, DELETE",
        allow_headers="authorization, *",
        expose_headers="retry-after",
        max_age="600",
    )
    return {_CORS: policy}


def no_body_limit() -> Json:
    """What a gRPC route says to the body limit, and one of uploads: a stream has no whole body to wait for."""
    return {"envoy.filters.http.buffer": typed("extensions.filters.http.buffer.v3.BufferPerRoute", disabled=True)}


def _policy(service: Service, policy: str, placement: Placement, inline: dict[str, Json]) -> Json:
    name = f"citemesh.{policy}"
    if policy in inline:
        return {"name": name, "typed_config": inline[policy]}
    # No default configuration: until the file is read the listener waits, and when it can't be used calls
    # fail.
    discovery = {
        "config_source": {
            "path_config_source": {"path": placement.policy_file(service.name, policy)},
            "resource_api_version": "V3",
        },
        "type_urls": [typed(_WASM)["@type"]],
        "apply_default_config_without_warming": False,
    }
    return {"name": name, "config_discovery": discovery}


def _cors() -> Json:
    return {"name": _CORS, "typed_config": typed("extensions.filters.http.cors.v3.Cors")}


def _rate_limit(service: Service) -> Json:
    rate = service.limits.rate_per_s
    always = {"default_value": {"numerator": 100, "denominator": "HUNDRED"}}
    config = typed(
        "extensions.filters.http.local_ratelimit.v3.LocalRateLimit",
        stat_prefix="listener",
        token_bucket={"max_tokens": 2 * rate, "tokens_per_fill": rate, "fill_interval": "1s"},
        filter_enabled=always,
        filter_enforced=always,
        rate_limited_as_resource_exhausted=True,
    )
    return {"name": "envoy.filters.http.local_ratelimit", "typed_config": config}


def _grpc_stats(methods: tuple[Method, ...]) -> Json:
    """Counters for the RPCs the topology names; any other path would let callers make up statistics."""
    ordered = sorted(methods, key=lambda method: (method.service, method.name))
    listed = [
        {"name": service, "method_names": [method.name for method in group]}
        for service, group in groupby(ordered, key=lambda method: method.service)
    ]
    config = typed(
        "extensions.filters.http.grpc_stats.v3.FilterConfig",
        individual_method_stats_allowlist={"services": listed},
        enable_upstream_stats=True,
    )
    return {"name": "envoy.filters.http.grpc_stats", "typed_config": config}


def _body_limit(service: Service) -> Json:
    """HTTP bodies reach the app whole, and one past the limit is answered 413."""
    config = typed("extensions.filters.http.buffer.v3.Buffer", max_request_bytes=service.limits.max_message_bytes)
    return {"name": "envoy.filters.http.buffer", "typed_config": config}


def _router(quiet: bool) -> Json:
    """`quiet` keeps `x-envoy-*` from the answer. Between sidecars `x-envoy-overloaded` is what stops
    retries.
    """
    config = typed("extensions.filters.http.router.v3.Router", suppress_envoy_headers=quiet)
    return {"name": "envoy.filters.http.router", "typed_config": config}


def tracing(side: str, service: Service, topology: Topology) -> Json:
    """The listener's tracing; incoming `traceparent` is continued. Span names say which listener of which sidecar."""
    provider = typed(
        "config.trace.v3.OpenTelemetryConfig",
        grpc_service={"envoy_grpc": {"cluster_name": "otlp"}, "timeout": duration(2)},
        service_name=f"citemesh-{service.name}-sidecar",
    )
    return {
        "provider": {"name": "envoy.tracers.opentelemetry", "typed_config": provider},
        "random_sampling": {"value": topology.tracing.sample_percent},
        "spawn_upstream_span": True,
        "operation": f"{service.name} {side}",
        "upstream_operation": f"{service.name} {side} %UPSTREAM_CLUSTER%",
    }
