"""A configured identity policy that most tests share: three keys, and what a call through it looks like."""

from __future__ import annotations

from dataclasses import dataclass

from citemesh.mesh.identity import IdentityConfig, new_key
from tests.policy.policy_host import Outcome, PolicyHost

HERE = b"127.0.0.1:50000"
REACH = ("notes", "team-*")


@dataclass(frozen=True, slots=True)
class Mesh:
    """A configured policy and the texts of its keys."""

    host: PolicyHost
    root: int
    ann: str
    """May call `/p.v1.Query/*`, `GET /v1/*` and `POST /v1/query`, and reach `notes` and `team-*`."""
    admin: str
    """May call everything, and reach every collection."""
    gateway: str
    """May call everything and names its callers."""

    def call(self, *headers: tuple[str, str], address: bytes | None = HERE) -> Outcome:
        """One call; `:method` is GET and `:path` is /v1/models unless given."""
        given = dict(headers)
        defaults = {":method": "GET", ":path": "/v1/models", ":authority": "mesh"}
        pairs = [(name, value) for name, value in defaults.items() if name not in given] + list(headers)
        return self.host.request(self.root, [(n.encode(), v.encode()) for n, v in pairs], address)

    def grpc(self, path: str, *headers: tuple[str, str]) -> Outcome:
        """One gRPC call."""
        kind = ("content-type", "application/grpc+proto")
        return self.call((":method", "POST"), (":path", path), kind, ("te", "trailers"), *headers)


def sample() -> tuple[IdentityConfig, list[str]]:
    """A configuration of three keys, and their texts."""
    ann = new_key("user:ann", "acme", ["/p.v1.Query/*", "GET /v1/*", "POST /v1/query"], collections=REACH)
    admin = new_key("user:admin", "acme", ["*"])
    gateway = new_key("service:gateway", "mesh", ["*"], delegate=True)
    records = tuple(record for _, record in (ann, admin, gateway))
    public = ("/grpc.health.v1.Health/*", "GET /healthz")
    config = IdentityConfig(records, ("127.0.0.0/8", "::1/128", "10.0.0.0/8"), public)
    return config, [text for text, _ in (ann, admin, gateway)]
