"""Which call goes where, and how long it may take."""

from __future__ import annotations

from citemesh.mesh.envoy.filters import no_body_limit
from citemesh.mesh.envoy.types import Json, duration
from citemesh.mesh.topology import Service, Topology

ROOM_HEADER = "x-citemesh-room"
"""Names the room whose health is asked for at an egress: the paths of all rooms' health are the same."""
_WATCH_S = 3_600.0
"""Health watches and reflection streams end after an hour; their clients reconnect."""


def ingress_routes(service: Service) -> list[Json]:
    """Calls from outside to the app: health first, then the RPCs, then HTTP where the app speaks it."""
    limits = service.limits
    routes = [_grpc({"prefix": "/grpc."}, "app_probe", _WATCH_S) | _UNTRACED]
    for method in service.methods:
        if method.timeout_s != limits.unary_timeout_s:
            routes.append(_grpc({"path": method.path}, "app", method.timeout_s))
    routes.append(_grpc({"prefix": "/"}, "app", limits.unary_timeout_s))
    if not service.http:
        return [*routes, _answer(404, "only gRPC is spoken here")]
    return [
        *(route | {"typed_per_filter_config": no_body_limit()} for route in routes),
        _http(limits.stream_timeout_s),
    ]


def egress_routes(service: Service, topology: Topology) -> list[Json]:
    """Calls of the app to other services, told apart by their proto package; only what the topology
    allows.
    """
    routes: list[Json] = []
    for name in service.calls:
        routes += _calls_to(topology.service(name))
    return [*routes, _answer(403, f"the topology does not let {service.name} make this call")]


def _calls_to(callee: Service) -> list[Json]:
    cluster = peer_cluster(callee)
    named = {"name": ROOM_HEADER, "string_match": {"exact": callee.name}}
    health = {"prefix": "/grpc.health.v1.Health/", "headers": [named]}
    routes = [_grpc(health, cluster, _WATCH_S) | _UNTRACED]
    for method in callee.methods:
        if method.kind == "read":
            routes.append(_grpc({"path": method.path}, cluster, method.timeout_s, _RETRY))
        elif method.timeout_s != callee.limits.unary_timeout_s:
            routes.append(_grpc({"path": method.path}, cluster, method.timeout_s))
    # Methods the topology does not name, so that an RPC can be added before its limits are chosen.
    routes.append(_grpc({"prefix": f"/{callee.package}."}, cluster, callee.limits.unary_timeout_s))
    return routes


def peer_cluster(callee: Service) -> str:
    """Name of the cluster that leads to another service's sidecar."""
    return f"to_{callee.name}"


# Probes come every second or so and would drown the traces of real calls.
_NEVER: Json = {"numerator": 0, "denominator": "HUNDRED"}
_UNTRACED: Json = {"tracing": {"client_sampling": _NEVER, "random_sampling": _NEVER, "overall_sampling": _NEVER}}

# Only for calls that may be repeated; the cluster's retry budget bounds how many are.
_RETRY: Json = {
    "retry_on": "connect-failure,refused-stream,unavailable",
    "num_retries": 2,
    "retry_back_off": {"base_interval": "0.025s", "max_interval": "0.1s"},
}


def _grpc(match: Json, cluster: str, timeout_s: float, retry: Json | None = None) -> Json:
    """A gRPC route. The caller's `grpc-timeout` is its deadline, or `timeout_s` where that is shorter or
    none came.
    """
    limit = duration(timeout_s)
    action: Json = {
        "cluster": cluster,
        "timeout": "0s",  # would count from the request's end; the stream's whole life is what is bounded
        "max_stream_duration": {"max_stream_duration": limit, "grpc_timeout_header_max": limit},
    }
    if retry:
        action["retry_policy"] = retry
    return {"match": match | {"grpc": {}}, "route": action}


def _answer(status: int, text: str) -> Json:
    """A refusal by the sidecar; gRPC callers get the code Envoy maps the status to, and the text."""
    return {"match": {"prefix": "/"}, "direct_response": {"status": status, "body": {"inline_string": text}}}


def _http(timeout_s: float) -> Json:
    action = {
        "cluster": "app_http",
        "timeout": "0s",
        "max_stream_duration": {"max_stream_duration": duration(timeout_s)},
    }
    return {"match": {"prefix": "/"}, "route": action}
