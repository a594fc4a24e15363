"""``/healthz`` says that the process lives, ``/readyz`` what it can do now."""

import asyncio
from typing import Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

SERVICES = ("tokenizer", "retrieval", "generation", "reranker")
# Without search there is no answer at all; without the others there is a plainer one.
NEEDED = "retrieval"


class Probe(Protocol):
    """Asks a service's health."""

    async def serving(self, service: str, timeout_s: float = 2.0) -> bool:
        """True where the service says that it serves."""
        ...


class HealthApi:
    """The endpoints."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    async def live(self, request: Request) -> Response:
        """``GET /healthz``."""
        return JSONResponse({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """``GET /readyz``: 200 where questions can be answered, 503 where not."""
        states = await asyncio.gather(*(self._probe.serving(service) for service in SERVICES))
        services = dict(zip(SERVICES, states, strict=True))
        ready = services[NEEDED]
        status = "ok" if all(states) else "degraded" if ready else "unavailable"
        return JSONResponse({"status": status, "services": services}, 200 if ready else 503)
