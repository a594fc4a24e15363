"""Small words of Envoy's configuration that every part uses."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
"""One Envoy message as a plain tree; keys are proto field names."""

_V3 = "type.googleapis.com/envoy."


def typed(kind: str, **fields: Any) -> Json:
    """A `google.protobuf.Any` of an Envoy message; `kind` is its name after `envoy.`."""
    return {"@type": _V3 + kind, **fields}


def duration(seconds: float) -> str:
    """A `google.protobuf.Duration`, with no digits that say nothing."""
    return f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"


def tcp(host: str, port: int) -> Json:
    """A TCP socket address."""
    return {"socket_address": {"address": host, "port_value": port}}


def pipe(path: str, mode: int | None = None) -> Json:
    """A unix socket address; `mode` is the permissions of one that is created."""
    return {"pipe": {"path": path} | ({"mode": mode} if mode is not None else {})}
