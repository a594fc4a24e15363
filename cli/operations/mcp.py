"""`citemesh mcp`."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any

import click

from citemesh.client.mesh import Mesh
from citemesh.client.query import ASK_TIMEOUT_S
from citemesh.errors import InvalidInput, PreconditionFailed
from citemesh.version import own_version
from cli.terminal.connect import connect, connection_options, reporting, run, settings_for


@click.command()
@click.option("--http", metavar="HOST:PORT", help="Serve over HTTP on a loopback address instead of standard input.")
@click.option("--documents-target", help="gRPC address of retrieval's ingress; the running mesh's when left out.")
@connection_options
@reporting
def mcp(
    http: str | None,
    documents_target: str | None,
    target: str | None,
    key: str | None,
    state_dir: Path | None,
    timeout_s: float | None,
) -> int:
    """Let assistants search, ask and read, over the Model Context Protocol."""
    address = loopback(http) if http else None
    settings = settings_for(state_dir)
    gateway = connect("gateway", settings, target, key)
    retrieval = connect("retrieval", settings, documents_target, key)
    return run(_serve(gateway, retrieval, timeout_s or ASK_TIMEOUT_S, address))


async def _serve(gateway: Mesh, retrieval: Mesh, timeout_s: float, address: tuple[str, int] | None) -> int:
    server = _server(gateway, retrieval, timeout_s)
    async with gateway, retrieval:
        if address:
            await server.run_streamable_http_async(host=address[0], port=address[1])
        else:
            await server.run_stdio_async()
    return 0


def loopback(address: str) -> tuple[str, int]:
    """Host and port. Raises InvalidInput for one that others could reach: this server asks for no key."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    try:
        inside = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        inside = False
    if not inside or not port.isdigit() or not 0 < int(port) < 65536:
        raise InvalidInput("--http", f"{address[:80]!r} is no loopback address", "use one such as 127.0.0.1:8765")
    return host, int(port)


def _server(gateway: Mesh, retrieval: Mesh, timeout_s: float) -> Any:
    try:
        from citemesh.mcp.clients import MeshClients
        from citemesh.mcp.server import build
    except ModuleNotFoundError as error:
        remedy = "pip install 'citemesh[mcp]'"
        raise PreconditionFailed("PACKAGE_MISSING", f"the package {error.name} is not installed", remedy) from None
    return build(MeshClients(gateway, retrieval), timeout_s, own_version(""))
