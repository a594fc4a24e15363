"""A service's health, which is its engine's."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from grpc_health.v1 import _async as aio  # health.aio, which the stubs leave out
from grpc_health.v1 import health_pb2

log = logging.getLogger(__name__)
CHECK_EVERY_S = 1.0
CHECK_TIMEOUT_S = 5.0


class Health:
    """Keeps grpc.health.v1 true for a service: "" and each of its services carry the same state."""

    def __init__(self, services: Sequence[str]) -> None:
        self.servicer = aio.HealthServicer()
        self._names = ("", *services)
        self.serving = False

    async def set(self, serving: bool) -> None:
        """Sets the state and tells every watcher."""
        if serving != self.serving:
            log.info("health is now %s", "SERVING" if serving else "NOT_SERVING")
        self.serving = serving
        kind = health_pb2.HealthCheckResponse
        for name in self._names:
            await self.servicer.set(name, kind.SERVING if serving else kind.NOT_SERVING)

    async def follow(self, healthy: Callable[[], Awaitable[bool]]) -> None:
        """Asks the engine every second, for good; an error or no answer in time counts as not healthy."""
        while True:
            await self.set(await is_healthy(healthy))
            await asyncio.sleep(CHECK_EVERY_S)


async def is_healthy(healthy: Callable[[], Awaitable[bool]]) -> bool:
    """Asks the engine once; False for an error or no answer in time."""
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            return await healthy()
    except Exception:
        log.exception("the health check failed")
        return False
