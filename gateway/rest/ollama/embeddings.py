"""Ollama's embeddings: ``POST /api/embed``."""

import time
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.rest.core.body import read_object
from gateway.rest.core.embedder import DIMENSIONS, FIELDS, INPUT, ROLE, SUMMARY, Embedder, embedded, inputs
from gateway.rest.core.endpoint import Endpoint, HttpBounds
from gateway.rest.core.errors import Problem
from gateway.rest.core.fields import Fields
from gateway.rest.core.streaming.disconnect import unless_gone

BODY = Fields(FIELDS)
MODEL = BODY.text("model", "As of /v1/embeddings.", required=True)
BODY.unused("models stay loaded", "keep_alive", "options", "truncate")


class OllamaEmbeddingsApi:
    """The endpoint."""

    def __init__(self, embedder: Embedder, bounds: HttpBounds) -> None:
        self._embedder = embedder
        self._bounds = bounds

    def endpoints(self) -> list[Endpoint]:
        """All of them."""
        return [
            Endpoint(
                "POST",
                "/api/embed",
                self.embed,
                "Ollama",
                Problem.ollama,
                SUMMARY,
                body=BODY,
                answer="`embeddings`.",
            )
        ]

    async def embed(self, request: Request) -> Response:
        """``POST /api/embed``."""
        start_ns = time.perf_counter_ns()
        body = await read_object(request, self._bounds.body_bytes)
        options = (MODEL.of(body), ROLE.of(body), DIMENSIONS.of(body))
        answer = await unless_gone(request, embedded(self._embedder, inputs(INPUT.of(body)), *options))
        content: dict[str, Any] = {"model": answer.model, "embeddings": [list(vector) for vector in answer.vectors]}
        usage = {"total_duration": time.perf_counter_ns() - start_ns, "prompt_eval_count": answer.tokens}
        return await run_in_threadpool(JSONResponse, content | usage)
