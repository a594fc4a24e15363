"""What one machine's mesh consists of: its programs, with their commands, environments and logs. Starts nothing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from citemesh.cpu import usable_cores
from citemesh.errors import PreconditionFailed
from citemesh.kit.settings import PREFIX
from citemesh.mesh.dial import dial_targets, ingress_targets
from citemesh.mesh.placement import Placement, find_identity_wasm
from citemesh.mesh.topology import Service, Topology, default_path, load_topology
from cli.local_mesh.keys import Keyring

SIDECAR = "-sidecar"
_HTTP_OFFSET = 1
"""Only a sidecar puts gRPC and HTTP on one port; without one, HTTP has the port after the ingress's."""
_ENGINES = ("tokenizer", "retrieval", "generation", "reranker")
LARGE_PAGES = "glibc.malloc.hugetlb=1"


@dataclass(frozen=True, slots=True)
class StackOptions:
    """How to run a mesh on this machine."""

    state_dir: Path = Path(".citemesh")
    port_base: int = 8080
    mesh: bool = True
    """False: no sidecars; the apps dial each other's sockets and nothing checks keys."""
    fake: bool = False
    """Engines that need no model."""
    otlp_endpoint: str = ""
    models_dir: Path | None = None
    """None: where the apps' own setting says."""
    env: Mapping[str, str] = field(default_factory=dict)
    """More settings for the apps."""
    start_s: float = 600.0
    """Within which everything must be healthy."""
    origins: tuple[str, ...] = ()
    """Web origins whose pages may call the public ingress."""


class Layout:
    """Where everything is, following from the options alone.

    Raises (on construction):
        PreconditionFailed: no topology, or (with sidecars) no identity policy to load.
        InvalidInput: a port base or a state directory that can't be used.
    """

    def __init__(self, options: StackOptions, topology: Topology | None = None) -> None:
        self.options = options
        self.root = default_path().parents[1]
        self.topology = topology or load_topology()
        self.log_dir = options.state_dir / "log"
        self.run_dir = options.state_dir / "run"
        self.keyring = Keyring(options.state_dir)
        self.placement = Placement(
            run_dir=self.run_dir.as_posix(),
            log_dir=self.log_dir.as_posix(),
            port_base=options.port_base,
            identity_wasm=find_identity_wasm(self.root / "policies") if options.mesh else "",
            otlp_endpoint=options.otlp_endpoint or None,
            origins=options.origins,
        )
        self.service_names = self.topology.service_names()
        if not options.mesh and any(service.sharded for service in self.topology.services):
            raise PreconditionFailed(
                "NEEDS_SIDECARS",
                "replicas share out collections, and only sidecars tell which has one",
                "start without --no-mesh, or with one replica",
            )

    def log(self, program: str) -> Path:
        """Where a program's output goes."""
        return self.log_dir / f"{program}.log"

    def app_address(self, service_name: str) -> str:
        """gRPC address that an app listens on: its socket; without sidecars the gateway has the public port itself."""
        if service_name == "gateway" and not self.options.mesh:
            return f"{self.placement.host}:{self.placement.port(0)}"
        return f"unix:{self.placement.app_socket(service_name)}"

    def targets(self) -> dict[str, str]:
        """gRPC address of every service for callers outside the mesh, from whatever directory they call."""
        targets = ingress_targets(self.placement, self.options.mesh, self.topology)
        if not self.options.mesh:
            targets["gateway"] = self.app_address("gateway")
        return {service_name: _absolute(address) for service_name, address in targets.items()}

    def shards(self) -> int:
        """Over how many replicas retrieval's collections are spread."""
        counts = [
            service.replicas for service in self.topology.services if service.name == "retrieval" and service.sharded
        ]
        return counts[0] if counts else 1

    def rest_url(self) -> str:
        """Base URL of the REST API."""
        return f"http://{self.placement.host}:{self.placement.port(0 if self.options.mesh else _HTTP_OFFSET)}"

    def ports(self) -> dict[str, int]:
        """Every port that will be listened on, by what listens."""
        if not self.options.mesh:
            return {"gateway gRPC": self.placement.port(0), "gateway HTTP": self.placement.port(_HTTP_OFFSET)}
        sides = {f"{s.name} ingress": s.ports.ingress for s in self.topology.sidecars()}
        sides |= {f"{s.name} egress": s.ports.egress for s in self.topology.sidecars()}
        return {name: self.placement.port(offset) for name, offset in sides.items()}

    def app_command(self, service_name: str) -> list[str]:
        """How an app is started. Safe path: a folder named `services` where the user stands must not shadow ours."""
        role = self.topology.service(service_name).role
        module = "gateway.main" if role == "gateway" else f"services.{role}.main"
        return [sys.executable, "-P", "-m", module]

    def app_env(self, service_name: str) -> dict[str, str]:
        """An app's environment: the caller's, with what makes it part of this mesh."""
        service = self.topology.service(service_name)
        env = {
            **_pages(service.role),
            **os.environ,
            **_threads(),
            **self.options.env,
            **self._shared(),
            **self._own(service),
        }
        return {name: value for name, value in env.items() if not name.startswith(f"{PREFIX}CLI_")}

    def sidecar_env(self) -> dict[str, str]:
        """A sidecar's environment: none of the settings concern it."""
        return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}

    def _shared(self) -> dict[str, str]:
        options = self.options
        shared = {"STATE_DIR": str(options.state_dir), "OTLP_ENDPOINT": options.otlp_endpoint}
        if options.origins:
            shared["HTTP_ORIGINS"] = json.dumps(options.origins)
        if options.models_dir:
            shared["MODELS_DIR"] = str(options.models_dir.expanduser())
        return {PREFIX + name: value for name, value in shared.items() if value}

    def _own(self, service: Service) -> dict[str, str]:
        variables = {"LISTEN": self.app_address(service.name)}
        if service.calls:
            targets = dial_targets(service.name, self.placement, self.options.mesh, self.topology)
            variables["TARGETS"] = json.dumps(targets)
        if service.calls and self.options.mesh:
            variables["KEY_FILE"] = str(self.keyring.service_key_file(service.role))
        if service.public and self.shards() > 1:
            variables["RETRIEVAL_SHARDS"] = str(self.shards())
        if service.sharded:
            variables["SHARD"] = str(service.number)
        if self.options.fake and service.role in _ENGINES:
            variables["ENGINE"] = "fake"
        if self.options.fake and service.role == "retrieval":
            variables["EMBEDDING_ENGINE"] = "fake"
        if service.http and self.options.mesh:
            variables["HTTP_LISTEN"] = self.placement.http_socket(service.name)
        elif service.http:
            variables["HTTP_LISTEN"] = self.rest_url().removeprefix("http://")
        return {f"{PREFIX}{service.role.upper()}_{name}": value for name, value in variables.items()}


def _threads() -> dict[str, str]:
    """Half of the cores for each math library, unless the user has chosen: ten processes share this machine."""
    count = str(max(1, usable_cores() // 2))
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
    return {name: os.environ.get(name, count) for name in names} | {"PYTHONUNBUFFERED": "1"}


def _pages(role: str) -> dict[str, str]:
    """Large pages of memory for the indexes, where the user has not chosen: a search reads all over them.

    glibc alone knows the variable; docs/performance.md says what it saves.
    """
    return {"GLIBC_TUNABLES": LARGE_PAGES} if role == "retrieval" else {}


def _absolute(address: str) -> str:
    scheme, _, path = address.partition("unix:")
    return address if scheme or not path else f"unix:{Path(path).absolute()}"
