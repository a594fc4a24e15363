"""A real Envoy with one policy in front of an HTTP and a gRPC application that answer with the headers they got."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc

from tests.policy.policy_host import POLICIES, artefact

START_S = 20.0
CALL_S = 10.0
Json = dict[str, Any]


def envoy_binary() -> str | None:
    """Where Envoy is: beside this Python, or on PATH."""
    beside = Path(sys.executable).parent / "envoy"
    return str(beside) if beside.exists() else shutil.which("envoy")


def readme_filter(configuration: str) -> Json:
    """The filter that `policies/README.md` shows, with this configuration and the committed file."""
    (block,) = re.findall(r"```python\n(.*?)```", (POLICIES / "README.md").read_text(), re.DOTALL)
    shown = block.replace("policies/dist/identity-<sha12>.wasm", str(artefact("identity")))
    written = shown.replace("json.dumps(identity_config)", json.dumps(configuration))
    found: Json = json.loads(re.sub(r",(\s*[}\]])", r"\1", written))
    return found


def bootstrap(directory: Path, configuration: str, http_port: int, grpc_port: int, ports: tuple[int, int]) -> Json:
    """An Envoy with listeners on IPv4, on IPv6 that takes IPv4 too, and on a unix socket."""
    listeners = [
        _listener("v4", _tcp("127.0.0.1", ports[0]), configuration),
        _listener("dual", _tcp("::", ports[1], ipv4_compat=True), configuration),
        _listener("pipe", {"pipe": {"path": str(directory / "in.sock")}}, configuration),
    ]
    clusters = [
        _cluster("http", http_port),
        _cluster("grpc", grpc_port) | {"typed_extension_protocol_options": _HTTP2},
    ]
    admin = {"address": {"pipe": {"path": str(directory / "admin.sock")}}}
    return {"admin": admin, "static_resources": {"listeners": listeners, "clusters": clusters}}


_HTTP2 = {
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http2_protocol_options": {}},
    }
}


def _tcp(address: str, port: int, **more: object) -> Json:
    return {"socket_address": {"address": address, "port_value": port, **more}}


def _cluster(name: str, port: int) -> Json:
    endpoint = {"endpoint": {"address": _tcp("127.0.0.1", port)}}
    return {
        "name": name,
        "type": "STATIC",
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
    }


def _listener(name: str, address: Json, configuration: str) -> Json:
    is_grpc = {"name": "content-type", "string_match": {"prefix": "application/grpc"}}
    routes = [
        {"match": {"prefix": "/", "headers": [is_grpc]}, "route": {"cluster": "grpc"}},
        {"match": {"prefix": "/"}, "route": {"cluster": "http"}},
    ]
    package = "type.googleapis.com/envoy.extensions.filters"
    router = {
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": f"{package}.http.router.v3.Router"},
    }
    manager = {
        "@type": f"{package}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name,
        "use_remote_address": True,
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
        "http_filters": [readme_filter(configuration), router],
    }
    chain = {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
    return {"name": name, "address": address, "filter_chains": [chain], "enable_reuse_port": False}


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body read as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A running Envoy; the ports of its IPv4 and its dual listener, and its directory with the sockets."""

    directory: Path
    port: int
    dual_port: int

    def get(self, path: str, *headers: tuple[str, str], host: str = "127.0.0.1", port: int | None = None) -> Reply:
        """GET with the path exactly as given."""
        return _ask(http.client.HTTPConnection(host, port or self.port, timeout=CALL_S), path, headers)

    def get_by_socket(self, path: str, *headers: tuple[str, str]) -> Reply:
        """GET by the unix socket."""
        return _ask(_UnixConnection(str(self.directory / "in.sock")), path, headers)

    def call(self, method: str, *metadata: tuple[str, str]) -> dict[str, list[str]]:
        """A gRPC call; the metadata the application got. Raises grpc.RpcError."""
        with grpc.insecure_channel(f"127.0.0.1:{self.port}") as channel:
            send = channel.unary_unary(method, request_serializer=None, response_deserializer=None)
            found: dict[str, list[str]] = json.loads(send(b"", metadata=metadata, timeout=CALL_S))
            return found

    def stats(self) -> dict[str, int]:
        """The policy's counters."""
        text = _ask(_UnixConnection(str(self.directory / "admin.sock")), "/stats?filter=citemesh", ()).body.decode()
        pairs = (line.split(": ") for line in text.splitlines())
        return {name.removeprefix("wasmcustom."): int(value) for name, value in pairs}

    def prometheus(self) -> str:
        """The counters as Prometheus reads them."""
        address = "/stats/prometheus?filter=citemesh"
        return _ask(_UnixConnection(str(self.directory / "admin.sock")), address, ()).body.decode()


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=CALL_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(CALL_S)
        self.sock.connect(self._path)


def _ask(connection: http.client.HTTPConnection, path: str, headers: tuple[tuple[str, str], ...]) -> Reply:
    with contextlib.closing(connection):
        connection.putrequest("GET", path, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return Reply(answer.status, {n.lower(): v for n, v in answer.getheaders()}, answer.read())


@contextlib.contextmanager
def sidecar(configuration: str) -> Iterator[Sidecar]:
    """Runs Envoy with this policy configuration, and the two applications behind it."""
    with tempfile.TemporaryDirectory(prefix="pol-") as name, http_application() as http_port:
        directory, ports = Path(name), (free_port(), free_port())
        with grpc_application() as grpc_port:
            written = write(directory, bootstrap(directory, configuration, http_port, grpc_port, ports))
            with _running(directory, written):
                yield Sidecar(directory, *ports)


def write(directory: Path, config: Json) -> Path:
    """The bootstrap as a file."""
    path = directory / "envoy.json"
    path.write_text(json.dumps(config))
    return path


def validate(configuration: str) -> tuple[int, str]:
    """Envoy's verdict on a configuration: exit status and log."""
    with tempfile.TemporaryDirectory(prefix="pol-") as name:
        directory = Path(name)
        path = write(directory, bootstrap(directory, configuration, 1, 1, (0, 0)))
        command = [str(envoy_binary()), "--mode", "validate", "-c", str(path), "--log-level", "error"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=START_S, check=False)
        return run.returncode, run.stdout + run.stderr


@contextlib.contextmanager
def _running(directory: Path, path: Path) -> Iterator[None]:
    command = [
        str(envoy_binary()),
        "-c",
        str(path),
        "--concurrency",
        "1",
        "--disable-hot-restart",
        "-l",
        "error",
    ]
    with (directory / "envoy.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _wait_ready(process, directory)
        yield
    finally:
        process.terminate()
        process.wait(START_S)


def _wait_ready(process: subprocess.Popen[bytes], directory: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        assert process.poll() is None, (directory / "envoy.log").read_text()
        with contextlib.suppress(OSError):
            if _ask(_UnixConnection(str(directory / "admin.sock")), "/ready", ()).status == http.HTTPStatus.OK:
                return
        time.sleep(0.02)
    raise AssertionError(f"Envoy is not ready after {START_S} s: {(directory / 'envoy.log').read_text()}")


@contextlib.contextmanager
def http_application() -> Iterator[int]:
    """An HTTP server that answers with its request's headers; its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


class _Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = json.dumps(_grouped(self.headers.items())).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@contextlib.contextmanager
def grpc_application() -> Iterator[int]:
    """A gRPC server that answers every method with its metadata; its port."""
    server = grpc.server(ThreadPoolExecutor(4), handlers=[_EchoMethods()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait(CALL_S)


class _EchoMethods(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # generic in its stubs only, not when run
    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        metadata = json.dumps(_grouped(handler_call_details.invocation_metadata)).encode()
        return grpc.unary_unary_rpc_method_handler(lambda request, context: metadata)


def _grouped(pairs: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name.lower(), []).append(value)
    return found


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def has_ipv6() -> bool:
    """Whether `::1` can be bound."""
    if not os.path.exists("/proc/net/if_inet6"):
        return False
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False
