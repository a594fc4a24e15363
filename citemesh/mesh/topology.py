"""The topology: which services there are, who may call whom, under which policies and limits.

It is written once, in `deploy/mesh.yaml`, and everything Envoy is told follows from it. Nothing here differs
between machines; what does is in `citemesh.mesh.placement`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from citemesh.errors import InvalidInput, PreconditionFailed
from citemesh.mesh.kubernetes import Kubernetes, read_kubernetes
from citemesh.mesh.reader import Node, read_yaml

MethodKind = Literal["read", "write", "stream"]
POLICIES = ("identity",)
SHARD_BY = ("x-citemesh-collection",)
"""Headers by whose value replicas can share out what they keep."""
REPLICA_STRIDE = 100
"""Between the port offsets of one replica and those of the next."""
VERSION = 1

_NAME = r"[a-z][a-z0-9-]{0,30}"
_PACKAGE = r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*\.v[0-9]+"
_PROTO_NAME = r"[A-Z][A-Za-z0-9]*"
_HTTP_PATH = r"(/[A-Za-z0-9._~-]+)+"
_DAY_S = 86_400.0
_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Method:
    """One RPC. `read` is unary and idempotent (retried), `write` unary, `stream` anything that streams."""

    service: str
    """Full proto name, such as `citemesh.api.tokenizer.v1.TokenizerService`."""
    name: str
    kind: MethodKind
    timeout_s: float
    """Longest life of a call; a caller's shorter deadline wins."""
    each_replica: bool = False
    """Where replicas share out what they keep: also asked of a replica by its number."""

    @property
    def path(self) -> str:
        """The HTTP/2 path of the RPC."""
        return f"/{self.service}/{self.name}"


@dataclass(frozen=True, slots=True)
class Upload:
    """An HTTP path to which bodies are posted that pass through as they come, however large: the app bounds them."""

    path: str
    timeout_s: float
    """Longest life of a request, its answer included."""


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Bounds of one service, enforced by its sidecar."""

    max_message_bytes: int
    """Largest gRPC message the service takes, and HTTP body but for uploads."""
    max_concurrent: int
    """Calls in flight; one more is refused at once."""
    buffer_bytes: int
    """What a sidecar holds per connection and direction before it pushes back; also the HTTP/2 stream
    window.
    """
    unary_timeout_s: float
    stream_timeout_s: float
    rate_per_s: int
    """Calls a second over the ingress, with as many again as burst; 0: no such limit."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Offsets from the placement's port base."""

    ingress: int
    egress: int


@dataclass(frozen=True, slots=True)
class Service:
    """One service and its sidecar."""

    name: str
    package: str
    public: bool
    """The public ingress: callers are outsiders, so what they say about themselves is not believed."""
    http: bool
    """The app also answers HTTP/1.1 on its own socket."""
    ports: Ports
    replicas: int
    calls: tuple[str, ...]
    policies: tuple[str, ...]
    limits: ServiceLimits
    methods: tuple[Method, ...]
    shard_by: str = ""
    """Header by whose value the replicas share out what they keep; empty: they are all alike."""
    number: int = 0
    """Which replica it is."""
    uploads: tuple[Upload, ...] = ()

    @property
    def role(self) -> str:
        """The name that all its replicas share."""
        return self.name.removesuffix(f"-{self.number}") if self.number else self.name

    @property
    def sharded(self) -> bool:
        """Whether a call must reach one certain replica."""
        return self.replicas > 1 and bool(self.shard_by)

    def each(self) -> tuple[Service, ...]:
        """Its replicas, each as a service of its own: the first under its name, the others with their number."""
        return (self, *(self._replica(number) for number in range(1, self.replicas)))

    def _replica(self, number: int) -> Service:
        step = number * REPLICA_STRIDE
        ports = Ports(self.ports.ingress + step, self.ports.egress + step)
        return replace(self, name=f"{self.name}-{number}", ports=ports, number=number)


@dataclass(frozen=True, slots=True)
class Tracing:
    """How the sidecars trace when an OTLP endpoint is given."""

    sample_percent: float
    """Share of new traces; a call that already belongs to a trace follows its caller's decision."""


@dataclass(frozen=True, slots=True)
class Topology:
    """The whole mesh."""

    tracing: Tracing
    services: tuple[Service, ...]
    kubernetes: Kubernetes | None = None

    def service(self, name: str) -> Service:
        """The service of that name, or the replica.

        Raises:
            InvalidInput: there is none.
        """
        for service in self.sidecars():
            if service.name == name:
                return service
        listed = ", ".join(s.name for s in self.services)
        raise InvalidInput("service", f"{name!r} is not in the topology", f"use one of: {listed}")

    def sidecars(self) -> tuple[Service, ...]:
        """Every replica of every service, in the document's order: each has an app and a sidecar."""
        return tuple(replica for service in self.services for replica in service.each())

    def service_names(self) -> tuple[str, ...]:
        """Names of all of them."""
        return tuple(service.name for service in self.sidecars())


PACKAGED = Path(__file__).parent / "packaged"
"""Where a wheel carries `deploy/mesh.yaml` and `policies/dist`, for an installation without a checkout."""


def default_path() -> Path:
    """`deploy/mesh.yaml` of the checkout, of the working directory, or the one that the wheel carries.

    Raises:
        PreconditionFailed: none of them has one.
    """
    for root in (Path(__file__).resolve().parents[2], Path(), PACKAGED):
        path = root / "deploy" / "mesh.yaml"
        if path.is_file():
            return path
    raise PreconditionFailed("TOPOLOGY_MISSING", "deploy/mesh.yaml was not found", "run from a checkout of the project")


def load_topology(path: Path | None = None) -> Topology:
    """Reads and checks a topology file (`deploy/mesh.yaml` when none is named).

    Raises:
        InvalidInput: names the place in the document, the fault and the remedy.
        PreconditionFailed: there is no such file.
    """
    path = path or default_path()
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PreconditionFailed("TOPOLOGY_MISSING", f"{path}: {error.strerror}", "name a readable file") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(path.name, f"not UTF-8 at byte {error.start}", "save the file as UTF-8") from error
    return parse_topology(text, path.name)


def parse_topology(text: str, name: str = "mesh.yaml") -> Topology:
    """`load_topology` for a document in memory; `name` is what errors call it."""
    root = read_yaml(text, name).fields(["version", "tracing", "limits", "services"], ["kubernetes"])
    root["version"].integer(VERSION, VERSION)
    tracing = root["tracing"].fields(["sample_percent"])
    limits = root["limits"]
    entries = root["services"].entries()
    services = tuple(_service(key, node, limits, tuple(entries)) for key, node in entries.items())
    if not services:
        raise root["services"].refuse("no service", "name at least one")
    _refuse_shared(root["services"], services)
    cluster = read_kubernetes(root["kubernetes"]) if "kubernetes" in root else None
    return Topology(Tracing(tracing["sample_percent"].number(0.0, 100.0)), services, cluster)


def _service(name: str, node: Node, defaults: Node, service_names: tuple[str, ...]) -> Service:
    Node(name, node.path).text(_NAME, "a short name in lower case (letters, digits, dashes)")
    required = ["package", "ports", "methods"]
    fields = node.fields(required, ["public", "http", "uploads", "replicas", "shard_by", "calls", "policies", "limits"])
    limits = _limits(defaults, fields.get("limits"))
    package = fields["package"].text(_PACKAGE, "a versioned proto package such as citemesh.api.tokenizer.v1")
    return Service(
        name=name,
        package=package,
        public=fields["public"].boolean() if "public" in fields else False,
        http=fields["http"].boolean() if "http" in fields else False,
        ports=_ports(fields["ports"]),
        replicas=fields["replicas"].integer(1, 1000) if "replicas" in fields else 1,
        calls=fields["calls"].names([r for r in service_names if r != name]) if "calls" in fields else (),
        policies=fields["policies"].names(POLICIES) if "policies" in fields else (),
        limits=limits,
        methods=_methods(fields["methods"], package, limits),
        shard_by=fields["shard_by"].choice(SHARD_BY) if "shard_by" in fields else "",
        uploads=_uploads(fields["uploads"], fields) if "uploads" in fields else (),
    )


def _uploads(node: Node, service: dict[str, Node]) -> tuple[Upload, ...]:
    if not ("http" in service and service["http"].boolean()):
        raise node.refuse("the service speaks no HTTP", "set `http: true`, or leave the uploads out")
    uploads = []
    for path, entry in node.entries().items():
        Node(path, entry.path).text(_HTTP_PATH, "a path such as /v1/documents")
        fields = entry.fields(["timeout_s"])
        uploads.append(Upload(path, fields["timeout_s"].number(0.001, _DAY_S)))
    return tuple(uploads)


def _ports(node: Node) -> Ports:
    fields = node.fields(["ingress", "egress"])
    return Ports(fields["ingress"].integer(0, 9_999), fields["egress"].integer(0, 9_999))


def _limits(defaults: Node, overrides: Node | None) -> ServiceLimits:
    required = ["max_message_bytes", "max_concurrent", "buffer_bytes", "unary_timeout_s", "stream_timeout_s"]
    fields = defaults.fields(required, ["rate_per_s"])
    if overrides is not None:
        fields = fields | overrides.fields([], [*required, "rate_per_s"])
    return ServiceLimits(
        max_message_bytes=fields["max_message_bytes"].integer(1_024, _GIB),
        max_concurrent=fields["max_concurrent"].integer(1, 100_000),
        # HTTP/2 windows may not be below 65,535 bytes nor above 2^31 - 1 (RFC 9113, 6.9.1-2); the
        # connection's window is 16 of these.
        buffer_bytes=fields["buffer_bytes"].integer(65_535, 64 * 2**20),
        unary_timeout_s=fields["unary_timeout_s"].number(0.001, _DAY_S),
        stream_timeout_s=fields["stream_timeout_s"].number(0.001, _DAY_S),
        rate_per_s=fields["rate_per_s"].integer(0, 1_000_000) if "rate_per_s" in fields else 0,
    )


def _methods(node: Node, package: str, limits: ServiceLimits) -> tuple[Method, ...]:
    methods: list[Method] = []
    for service, rpcs in node.entries().items():
        Node(service, rpcs.path).text(_PROTO_NAME, "a proto service name such as TokenizerService")
        methods += [_method(f"{package}.{service}", name, rpc, limits) for name, rpc in rpcs.entries().items()]
    if not methods:
        raise node.refuse("no method", "list the RPCs of the service")
    return tuple(methods)


def _method(service: str, name: str, node: Node, limits: ServiceLimits) -> Method:
    Node(name, node.path).text(_PROTO_NAME, "an RPC name such as Encode")
    fields = node.fields(["kind"], ["timeout_s", "each_replica"])
    kind: MethodKind = "stream"
    for each_kind in get_args(MethodKind):
        if fields["kind"].choice(get_args(MethodKind)) == each_kind:
            kind = each_kind
    usual = limits.stream_timeout_s if kind == "stream" else limits.unary_timeout_s
    timeout_s = fields["timeout_s"].number(0.001, _DAY_S) if "timeout_s" in fields else usual
    each_replica = fields["each_replica"].boolean() if "each_replica" in fields else False
    return Method(service, name, kind, timeout_s, each_replica)


def _refuse_shared(node: Node, services: tuple[Service, ...]) -> None:
    """Two listeners cannot share a port, nor two services a package (the egress routes by it)."""
    packages: dict[str, str] = {}
    for service in services:
        if service.package in packages:
            place = f"{node.path}.{service.name}.package"
            raise InvalidInput(place, f"already the package of {packages[service.package]}", "choose another")
        packages[service.package] = service.name
    _refuse_shared_places(node, [replica for service in services for replica in service.each()])


def _refuse_shared_places(node: Node, replicas: Sequence[Service]) -> None:
    ports: dict[int, str] = {}
    names: set[str] = set()
    for service in replicas:
        if service.name in names:
            raise InvalidInput(f"{node.path}.{service.name}", "it is the name of a replica too", "choose another")
        names.add(service.name)
        for side, port in (("ingress", service.ports.ingress), ("egress", service.ports.egress)):
            place = f"{node.path}.{service.name}.ports.{side}"
            if port in ports:
                raise InvalidInput(place, f"{port} is already the port of {ports[port]}", "choose a free offset")
            ports[port] = f"{service.name}.{side}"
