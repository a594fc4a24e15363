"""Where one mesh runs: everything that differs between machines, and nothing else.

The committed rendering and the running one come from the same functions; only their placements differ. Paths
may be relative: Envoy and the apps are started in the same working directory.
"""

from __future__ import annotations

import ipaddress
import urllib.parse
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from citemesh.errors import InvalidInput, PreconditionFailed
from citemesh.mesh.topology import Service

MAX_SOCKET_PATH = 100
"""Bytes. The kernel takes 107 (unix(7)); the margin is for libraries that prepend `@` or a scheme."""


@dataclass(frozen=True, slots=True)
class Placement:
    """One machine's choice of directories, ports and endpoints.

    Raises (on construction):
        InvalidInput: a host that is not loopback, a port out of range, an endpoint that is not
        `[http://]host:port`.
    """

    run_dir: str = ".citemesh/run"
    log_dir: str = ".citemesh/log"
    port_base: int = 8080
    host: str = "127.0.0.1"
    identity_wasm: str = ""
    """Path of the identity policy's artefact; needed wherever the topology names the policy."""
    otlp_endpoint: str | None = None
    """OTLP gRPC collector, `http://host:port` or `host:port`; None renders no tracing."""
    ingress_host: str = ""
    """Where others reach the sidecars, if not at `host`: an address of a pod, behind network policies."""
    origins: tuple[str, ...] = ()
    """Web origins whose pages may call the public ingress (CORS), each as a browser sends it."""

    def __post_init__(self) -> None:
        _require_loopback(self.host)
        if self.ingress_host:
            _require_address(self.ingress_host)
        if not 1 <= self.port_base <= 65_535:
            raise InvalidInput("port_base", f"{self.port_base} is no port", "choose one from 1 to 65000")
        if self.otlp_endpoint is not None:
            split_endpoint(self.otlp_endpoint)

    def port(self, offset: int) -> int:
        """The port at an offset from the base.

        Raises:
            InvalidInput: past 65535.
        """
        port = self.port_base + offset
        if port > 65_535:
            raise InvalidInput("port_base", f"{self.port_base} + {offset} is past 65535", "choose a lower base")
        return port

    def ingress(self, service: Service) -> str:
        """`host:port` of the service's sidecar for everyone else."""
        return f"{self.host}:{self.port(service.ports.ingress)}"

    def egress(self, service: Service) -> str:
        """`host:port` of the service's sidecar for its own app."""
        return f"{self.host}:{self.port(service.ports.egress)}"

    @property
    def listening_host(self) -> str:
        """What the ingress listens on."""
        return self.ingress_host or self.host

    def app_socket(self, service_name: str) -> str:
        """The app's gRPC unix socket."""
        return self._socket(f"{service_name}.sock")

    def http_socket(self, service_name: str) -> str:
        """The app's HTTP/1.1 unix socket."""
        return self._socket(f"{service_name}-http.sock")

    def admin_socket(self, service_name: str) -> str:
        """The sidecar's admin unix socket."""
        return self._socket(f"{service_name}.admin.sock")

    def config_file(self, service_name: str) -> str:
        """The sidecar's rendered bootstrap."""
        return f"{self.run_dir}/envoy/{service_name}.yaml"

    def policy_file(self, service_name: str, policy: str) -> str:
        """The ECDS document the sidecar watches."""
        return f"{self.run_dir}/policy/{service_name}.{policy}.yaml"

    def access_log(self, service_name: str) -> str:
        """The sidecar's access log, one JSON object a line."""
        return f"{self.log_dir}/{service_name}.access.log"

    def _socket(self, name: str) -> str:
        path = f"{self.run_dir}/{name}"
        if len(path.encode()) > MAX_SOCKET_PATH:
            raise InvalidInput(
                "run_dir",
                f"{path} is longer than {MAX_SOCKET_PATH} bytes",
                "choose a shorter or a relative directory",
            )
        return path


def find_identity_wasm(policies: Path = Path("policies")) -> str:
    """The one committed artefact of the identity policy, as a path like the one given.

    Raises:
        PreconditionFailed: none, or more than one, in `<policies>/dist`.
    """
    return _only(sorted((policies / "dist").glob("identity-*.wasm")), policies)


def _only(candidates: Iterable[Path], policies: Path) -> str:
    paths = [path.as_posix() for path in candidates]
    if len(paths) == 1:
        return paths[0]
    fault = f"several identity policies: {', '.join(paths)}" if paths else f"no identity-*.wasm in {policies}/dist"
    remedy = "name the one to run" if paths else "run `make policies`, or start in the project's directory"
    raise PreconditionFailed("IDENTITY_POLICY_MISSING", fault, remedy)


def split_endpoint(endpoint: str) -> tuple[str, int]:
    """(host, port) of an OTLP gRPC endpoint in clear text.

    Raises:
        InvalidInput: any other form. TLS is refused: a collector beside the mesh takes it from there.
    """
    parts = urllib.parse.urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme != "http":
        remedy = "give a collector on this machine or network as http://host:port"
        raise InvalidInput("otlp_endpoint", f"{parts.scheme}:// is not supported by the sidecars", remedy)
    if not host or not port or parts.path.strip("/") or parts.query or parts.username:
        raise InvalidInput("otlp_endpoint", f"{endpoint!r} is not host:port", "write http://host:port")
    return host, port


def _require_address(host: str) -> None:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise InvalidInput("ingress_host", f"{host!r} is no address", "write an IP address, or leave it out") from None


def _require_loopback(host: str) -> None:
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise InvalidInput("host", f"{host!r} is not a loopback address", "use 127.0.0.1: sidecars bind nothing wider")
