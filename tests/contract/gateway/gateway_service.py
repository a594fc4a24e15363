"""A whole gateway on unix sockets, over fakes of the other services."""

import shutil
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from citemesh.client import Mesh
from citemesh.kit.server import Server
from gateway.main import assemble
from gateway.settings import GatewaySettings
from tests.unit.gateway.query import fakes

# Made once: to read the machine's certificates takes longer than most tests, and no test here needs them.
TLS = ssl.create_default_context()


def transport_to(settings: GatewaySettings) -> httpx.AsyncHTTPTransport:
    """A way to a gateway's HTTP socket."""
    return httpx.AsyncHTTPTransport(uds=settings.http_socket, verify=TLS)


@dataclass
class Neighbours(AbstractAsyncContextManager[Any]):
    """Says what the test says of the other services' health; the rest is where the test has it."""

    down: set[str] = field(default_factory=set)
    documents: Any = None
    collections: Any = None
    retrieval: Any = None

    async def serving(self, service: str, timeout_s: float = 2.0) -> bool:
        return service not in self.down

    async def __aexit__(self, *error: object) -> None:
        return None


@dataclass
class Running:
    """A gateway that runs, and ways to it."""

    mesh: fakes.Mesh
    neighbours: Neighbours
    client: Mesh
    http: httpx.AsyncClient
    settings: GatewaySettings
    server: Server
    retrieval_socket: Path | None = None


@asynccontextmanager
async def gateway(
    mesh: fakes.Mesh | None = None, neighbours: Neighbours | None = None, **settings: Any
) -> AsyncIterator[Running]:
    """Runs one for the block."""
    mesh = mesh or fakes.Mesh()
    folder = Path(tempfile.mkdtemp(prefix="cm"))  # short: a socket's path has a limit
    chosen = GatewaySettings(state_dir=folder, **{"drain_s": 0.5, **settings})
    neighbours = neighbours or Neighbours()
    server = Server(assemble(chosen, mesh.services, neighbours), chosen)
    transport = transport_to(chosen)
    try:
        await server.start()
        async with (
            Mesh({"gateway": chosen.address}) as client,
            httpx.AsyncClient(transport=transport, base_url="http://gateway", timeout=20) as http,
        ):
            yield Running(mesh, neighbours, client, http, chosen, server)
    finally:
        await server.stop()
        shutil.rmtree(folder, ignore_errors=True)
