"""Serves the HTTP application, in the process and on the loop of the gRPC server."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.types import ASGIApp

from citemesh.errors import PreconditionFailed

# Longer than Envoy keeps an idle connection, so that it is Envoy that closes first and no request meets a closed one.
KEEP_ALIVE_S = 4000
START_S = 10.0


class _Server(uvicorn.Server):
    """Leaves the signals to the kit."""

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
            **_bind(address),
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
        if "uds" in _bind(self._address):
            Path(self._address).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._task = asyncio.create_task(self._server.serve())
        async with asyncio.timeout(START_S):
            while not self._server.started:
                if self._task.done():
                    raise self._failure()
                await asyncio.sleep(0.01)
        return self

    def _failure(self) -> PreconditionFailed:
        error = self._task.exception() if self._task else None
        return PreconditionFailed("ADDRESS_TAKEN", f"can't listen on {self._address}: {error}", "free it")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        if self._task is not None:
            await asyncio.wait({self._task})


def _bind(address: str) -> dict[str, Any]:
    """The address as uvicorn takes it."""
    host, _, port = address.rpartition(":")
    return {"host": host, "port": int(port)} if host and port.isdigit() and "/" not in address else {"uds": address}
