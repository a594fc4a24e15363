"""A small client of a sidecar's admin interface, over its unix socket. Blocking; every call has a timeout."""

from __future__ import annotations

import http.client
import json
import socket
import urllib.parse
from typing import Any, TypeVar

from citemesh.errors import DeadlineExceeded, Unavailable

T = TypeVar("T")


class Admin:
    """The admin interface behind one unix socket.

    All methods raise:
        Unavailable: nobody listens, the connection broke, or the answer is not what Envoy answers.
        DeadlineExceeded: no answer within the timeout.
    """

    def __init__(self, path: str, timeout_s: float = 2.0) -> None:
        self._path = path
        self._timeout_s = timeout_s

    def ready(self) -> bool:
        """True once the sidecar is LIVE: listeners warmed, clusters initialised."""
        status, _ = self._call("GET", "/ready")
        return status == 200

    def stats(self, pattern: str = "") -> dict[str, int]:
        """Counters and gauges whose names match the regular expression."""
        return self._stats(pattern, int)

    def texts(self, pattern: str = "") -> dict[str, str]:
        """Text readouts whose names match the regular expression."""
        return self._stats(pattern, str)

    def config_dump(self, resource: str = "") -> list[dict[str, Any]]:
        """The sections of the configuration dump, or one resource of it such as `ecds_filters`."""
        query = f"?{urllib.parse.urlencode({'resource': resource})}" if resource else ""
        configs: list[dict[str, Any]] = self._json(f"/config_dump{query}").get("configs", [])
        return configs

    def listeners(self) -> dict[str, str]:
        """Listener name to `host:port`."""
        statuses = self._json("/listeners?format=json").get("listener_statuses", [])
        return {entry["name"]: _address(entry.get("local_address", {})) for entry in statuses}

    def clusters(self) -> dict[str, bool]:
        """Cluster name to whether it has a healthy host."""
        statuses = self._json("/clusters?format=json").get("cluster_statuses", [])
        return {entry["name"]: any(map(_healthy, entry.get("host_statuses", []))) for entry in statuses}

    def drain(self) -> None:
        """Stops taking connections; calls in flight go on."""
        self._call("POST", "/drain_listeners?graceful")

    def reopen_logs(self) -> None:
        """Reopen the access log after it was moved away."""
        self._call("POST", "/reopen_logs")

    def _stats(self, pattern: str, kind: type[T]) -> dict[str, T]:
        query = urllib.parse.urlencode({"format": "json", "type": "All", "filter": pattern})
        entries = self._json(f"/stats?{query}").get("stats", [])
        return {entry["name"]: entry["value"] for entry in entries if isinstance(entry.get("value"), kind)}

    def _json(self, target: str) -> dict[str, Any]:
        status, body = self._call("GET", target)
        try:
            answer = json.loads(body)
        except ValueError:
            answer = None
        if status != 200 or not isinstance(answer, dict):
            raise Unavailable(f"admin interface at {self._path} ({target} answered {status})", 1.0)
        return answer

    def _call(self, method: str, target: str) -> tuple[int, bytes]:
        connection = _UnixConnection(self._path, self._timeout_s)
        try:
            connection.request(method, target)
            response = connection.getresponse()
            return response.status, response.read()
        except TimeoutError as error:
            raise DeadlineExceeded(f"admin interface at {self._path}") from error
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"admin interface at {self._path} ({error})", 1.0) from error
        finally:
            connection.close()


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._socket_path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._socket_path)


def _address(address: dict[str, Any]) -> str:
    socket = address.get("socket_address", {})
    return f"{socket.get('address', '?')}:{socket.get('port_value', '?')}"


def _healthy(host: dict[str, Any]) -> bool:
    health = host.get("health_status", {})
    failed = ("failed_active_health_check", "failed_outlier_check", "failed_active_degraded_check")
    return health.get("eds_health_status") == "HEALTHY" and not any(health.get(name) for name in failed)
