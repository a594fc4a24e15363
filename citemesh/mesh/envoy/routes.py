"""Which call goes where, and how long it may take."""

from __future__ import annotations

from typing import NamedTuple

from citemesh.mesh.envoy.filters import no_body_limit
from citemesh.mesh.envoy.types import Json, duration
from citemesh.mesh.topology import Method, Service, Topology, Upload

SERVICE_HEADER = "x-citemesh-service"
"""Names the service whose health is asked for at an egress: the paths of all services' health are the same."""
SHARD_HEADER = "x-citemesh-shard"
"""The number of the replica that a call is for: its sender says it, or the sidecar that finds the replica."""
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
        *map(_upload, service.uploads),
        _http({"prefix": "/"}, limits.stream_timeout_s),
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
    cluster = _Cluster(peer_cluster(callee), callee.shard_by if callee.sharded else "")
    header_match = {"name": SERVICE_HEADER, "string_match": {"exact": callee.name}}
    health = {"prefix": "/grpc.health.v1.Health/", "headers": [header_match]}
    routes = [_grpc(health, cluster, _WATCH_S) | _UNTRACED]
    for method in callee.methods:
        if method.each_replica and callee.sharded:
            routes += _to_each(callee, method)
            continue
        if method.kind == "read":
            routes.append(_grpc({"path": method.path}, cluster, method.timeout_s, _RETRY))
        elif method.timeout_s != callee.limits.unary_timeout_s:
            routes.append(_grpc({"path": method.path}, cluster, method.timeout_s))
    # Methods the topology does not name, so that an RPC can be added before its limits are chosen.
    routes.append(_grpc({"prefix": f"/{callee.package}."}, cluster, callee.limits.unary_timeout_s))
    return routes


def _to_each(callee: Service, method: Method) -> list[Json]:
    """A method that is asked of each replica by its number, of one by a name, and never of any that comes along."""
    retry = _RETRY if method.kind == "read" else None
    routes = []
    for number in range(callee.replicas):
        numbered = {"name": SHARD_HEADER, "string_match": {"exact": str(number)}}
        match = {"path": method.path, "headers": [numbered]}
        routes.append(_grpc(match, shard_cluster(callee, number), method.timeout_s, retry))
    path_match = {"path": method.path, "headers": [{"name": callee.shard_by, "present_match": True}]}
    routes.append(_grpc(path_match, _Cluster(peer_cluster(callee), callee.shard_by), method.timeout_s, retry))
    remedy = f"send {SHARD_HEADER} from 0 to {callee.replicas - 1} and ask each replica, or {callee.shard_by}"
    return [*routes, _answer(400, remedy) | {"match": {"path": method.path}}]


def peer_cluster(callee: Service) -> str:
    """Name of the cluster that leads to another service's sidecar."""
    return f"to_{callee.name}"


def shard_cluster(callee: Service, number: int) -> str:
    """Name of the cluster that leads to one replica's sidecar alone."""
    return f"{peer_cluster(callee)}_{number}"


class _Cluster(NamedTuple):
    """Where a call goes; hashed_by: the header that finds the host, where it must be a certain one."""

    name: str
    hashed_by: str = ""


# Probes come every second or so and would drown the traces of real calls.
_NEVER: Json = {"numerator": 0, "denominator": "HUNDRED"}
_UNTRACED: Json = {"tracing": {"client_sampling": _NEVER, "random_sampling": _NEVER, "overall_sampling": _NEVER}}

# Only for calls that may be repeated; the cluster's retry budget bounds how many are. No host is ruled out for a
# retry, so that where a header finds the host, the retry goes to the same one: no other has what is asked for.
_RETRY: Json = {
    "retry_on": "connect-failure,refused-stream,unavailable",
    "num_retries": 2,
    "retry_back_off": {"base_interval": "0.025s", "max_interval": "0.1s"},
}


def _grpc(match: Json, cluster: _Cluster | str, timeout_s: float, retry: Json | None = None) -> Json:
    """A gRPC route. The caller's `grpc-timeout` is its deadline, or `timeout_s` where that is shorter or none came.

    Without `grpc_timeout_header_max` Envoy would write `timeout_s` over the caller's `grpc-timeout`, and the app would
    work on for a caller that is long gone.
    """
    limit = duration(timeout_s)
    name, hashed_by = cluster if isinstance(cluster, _Cluster) else _Cluster(cluster)
    action: Json = {
        "cluster": name,
        "timeout": "0s",  # would count from the request's end; the stream's whole life is what is bounded
        "max_stream_duration": {"max_stream_duration": limit, "grpc_timeout_header_max": limit},
    }
    if hashed_by:
        action["hash_policy"] = [{"header": {"header_name": hashed_by}, "terminal": True}]
    if retry:
        action["retry_policy"] = retry
    return {"match": match | {"grpc": {}}, "route": action}


def _answer(status: int, text: str) -> Json:
    """A refusal by the sidecar; gRPC callers get the code Envoy maps the status to, and the text."""
    return {"match": {"prefix": "/"}, "direct_response": {"status": status, "body": {"inline_string": text}}}


def _upload(upload: Upload) -> Json:
    posted = {"name": ":method", "string_match": {"exact": "POST"}}
    route = _http({"path": upload.path, "headers": [posted]}, upload.timeout_s)
    return route | {"typed_per_filter_config": no_body_limit()}


def _http(match: Json, timeout_s: float) -> Json:
    action = {
        "cluster": "app_http",
        "timeout": "0s",
        "max_stream_duration": {"max_stream_duration": duration(timeout_s)},
    }
    return {"match": match, "route": action}
