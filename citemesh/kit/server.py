"""A service's gRPC server: start, serve, drain."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import grpc
from grpc_channelz.v1 import channelz
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from opentelemetry.instrumentation.grpc import aio_server_interceptor

from citemesh.errors import CiteMeshError, PreconditionFailed
from citemesh.kit import telemetry
from citemesh.kit.channel_options import options
from citemesh.kit.health import Health
from citemesh.kit.interceptors import CallInterceptor
from citemesh.kit.settings import ServiceSettings, load

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Registration:
    """A gRPC service: its full name, and a function that adds its servicer to a server."""

    name: str
    add: Callable[[grpc.aio.Server], None]


@dataclass(frozen=True)
class ServiceSpec:
    """A service as its main module describes it to the server.

    Attributes:
        services: the gRPC services that it answers.
        start: loads the engine; calls are refused and health says NOT_SERVING until it returns.
        stop: frees the engine, after the last call ended.
        healthy: asks the engine for its health, every second.
        drain: ends its listeners besides gRPC, within so many seconds, while gRPC drains.
        failed: completes when the engine is lost for good; the process then ends so that it is started again.
    """

    name: str
    services: Sequence[Registration]
    start: Callable[[], Awaitable[None]]
    stop: Callable[[], Awaitable[None]]
    healthy: Callable[[], Awaitable[bool]]
    drain: Callable[[float], Awaitable[None]] | None = None
    failed: Callable[[], Awaitable[None]] | None = None


class Server:
    """A running service. ``start`` listens at once and loads the engine behind it; ``stop`` drains."""

    def __init__(self, spec: ServiceSpec, settings: ServiceSettings) -> None:
        self._spec = spec
        self._settings = settings
        self._loaded = False
        self._draining = False
        self._tasks: list[asyncio.Task[None]] = []
        self.health = Health([service.name for service in spec.services])
        self._grpc = self._build()

    @property
    def ready(self) -> bool:
        """Whether the engine is loaded and the drain hasn't begun."""
        return self._loaded and not self._draining

    def _build(self) -> grpc.aio.Server:
        server = grpc.aio.server(
            interceptors=[
                aio_server_interceptor(filter_=_traced),  # type: ignore[no-untyped-call]  # shipped without types
                CallInterceptor(self._spec.name, lambda: self.ready),
            ],
            options=options(self._settings.max_message_mib),
            maximum_concurrent_rpcs=self._settings.max_concurrent_rpcs,
        )
        for service in self._spec.services:
            service.add(server)
        health_pb2_grpc.add_HealthServicer_to_server(self.health.servicer, server)
        channelz.add_channelz_servicer(server)  # type: ignore[arg-type]  # it takes both kinds of server
        names = [service.name for service in self._spec.services]
        reflection.enable_server_reflection([*names, health.SERVICE_NAME, reflection.SERVICE_NAME], server)
        return server

    async def start(self) -> None:
        """Listens, then loads the engine. Raises PreconditionFailed where the address is taken."""
        self._listen()
        await self._grpc.start()
        await self.health.set(False)
        await self._spec.start()
        self._loaded = True
        self._tasks.append(asyncio.create_task(self.health.follow(self._spec.healthy)))
        log.info("%s serves on %s", self._spec.name, self._settings.address)

    def _listen(self) -> None:
        address = self._settings.address
        if address.startswith("unix:"):
            folder = os.path.dirname(address.removeprefix("unix:"))
            os.makedirs(folder or ".", mode=0o700, exist_ok=True)
        try:
            self._grpc.add_insecure_port(address)
        except RuntimeError as error:
            remedy = "stop what listens there, or set another listen address"
            raise PreconditionFailed("ADDRESS_TAKEN", f"can't listen on {address}: {error}", remedy) from None

    async def stop(self) -> None:
        """Stops accepting, finishes what is in flight up to the drain time, cancels the rest, frees the engine."""
        self._draining = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.health.set(False)
        await asyncio.gather(self._grpc.stop(self._settings.drain_s), self._drain_more())
        await self._spec.stop()
        log.info("%s has stopped", self._spec.name)

    async def _drain_more(self) -> None:
        if self._spec.drain is not None:
            await self._spec.drain(self._settings.drain_s)


def _traced(call: grpc.HandlerCallDetails) -> bool:
    """Says whether a call is traced: all but probes, which come every second.

    OpenTelemetry's own filter for them takes ten times as long.
    """
    return not call.method.startswith("/grpc.health.")


async def serve(spec: ServiceSpec, settings: ServiceSettings, stop: asyncio.Event) -> None:
    """Serves until ``stop`` is set. Raises PreconditionFailed where the engine is lost for good before."""
    server = Server(spec, settings)
    lost = asyncio.create_task(_lost(spec))
    starting = asyncio.create_task(server.start())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            await starting
            await asyncio.wait({stopping, lost}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        starting.cancel()
        stopping.cancel()
        await server.stop()
        is_lost = lost.done() and not lost.cancelled()
        lost.cancel()
    if is_lost:
        raise PreconditionFailed("ENGINE_LOST", f"the engine of {spec.name} is lost", "its supervisor starts it again")


async def _lost(spec: ServiceSpec) -> None:
    if spec.failed is None:
        await asyncio.Event().wait()
    else:
        await spec.failed()


S = TypeVar("S", bound=ServiceSettings)


def run_service(settings_cls: type[S], build: Callable[[S], ServiceSpec]) -> int:
    """Serves until SIGINT or SIGTERM; returns the exit status of the process (2: bad settings)."""
    try:
        settings = load(settings_cls)
    except CiteMeshError as error:
        print(f"{settings_cls.service_name()}: {error}", file=sys.stderr)
        return 2
    flush = telemetry.start(f"citemesh-{settings.service_name()}", settings)
    try:
        asyncio.run(_until_signal(settings, build))
    except CiteMeshError as error:
        log.error("%s: %s", settings.service_name(), error)
        return 1
    finally:
        flush()
    return 0


async def _until_signal(settings: S, build: Callable[[S], ServiceSpec]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await serve(build(settings), settings, stop)
