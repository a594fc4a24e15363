"""Serves the HTTP application, in the process and on the loop of the gRPC server."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from citemesh.errors import PreconditionFailed

# Longer than Envoy keeps an idle connection, so that it is Envoy that closes first and no request meets a closed one.
KEEP_ALIVE_S = 4000
START_S = 10.0


class _Server(uvicorn.Server):
    """Leaves the signals to the kit, and says when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listens."""
        await super().startup(sockets)
        self.up.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Captures none."""
        yield


class HttpServer:
    """An async context manager: listens within, drains at the end.

    Args:
        address: a unix socket's path, or host:port.
        drain_s: seconds that requests in progress get to finish.
    """

    def __init__(self, app: ASGIApp, address: str, drain_s: float) -> None:
        self._address = address
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=max(1, round(drain_s)),
        )
        self._server = _Server(config)
        self._task: asyncio.Task[None] | None = None

    @property
    def serving(self) -> bool:
        """Whether it takes requests."""
        return self._task is not None and not self._task.done() and self._server.started

    async def __aenter__(self) -> Self:
        # A socket of our own, since uvicorn ends the process where it can't listen.
        self._task = asyncio.create_task(self._server.serve([listen(self._address)]))
        up = asyncio.create_task(self._server.up.wait())
        await asyncio.wait({self._task, up}, timeout=START_S, return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        if self._task.done():
            await self._task
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.drain()

    async def drain(self) -> None:
        """Stops accepting and ends; requests in progress get the time that the settings give them."""
        self._server.should_exit = True
        if self._task is not None:
            await asyncio.wait({self._task})


def listen(address: str) -> socket.socket:
    """A socket bound to the address. Raises PreconditionFailed where it is taken or no address."""
    try:
        host, _, port = address.rpartition(":")
        if host and port.isdigit() and "/" not in address:
            return socket.create_server((host.strip("[]"), int(port)), family=_family(host))
        return _listen_unix(Path(address))
    except (OSError, OverflowError) as error:
        fault = f"can't listen on {address} for HTTP: {error}"
        raise PreconditionFailed("ADDRESS_TAKEN", fault, "stop what listens there, or set another address") from None


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _listen_unix(path: Path) -> socket.socket:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # left by a process that was killed
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bound.bind(str(path))
    except OSError:
        bound.close()
        raise
    return bound
