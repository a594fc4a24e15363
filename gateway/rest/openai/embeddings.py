"""OpenAI's embeddings: ``POST /v1/embeddings``."""

import base64
import struct
from collections.abc import Sequence

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from citemesh.client.types import Embedded
from gateway.rest.core.body import read_object
from gateway.rest.core.embedder import DIMENSIONS, FIELDS, INPUT, ROLE, SUMMARY, Embedder, embedded, inputs
from gateway.rest.core.endpoint import Endpoint, HttpBounds
from gateway.rest.core.errors import Problem
from gateway.rest.core.fields import Fields
from gateway.rest.core.streaming.disconnect import unless_gone

BODY = Fields(FIELDS)
MODEL = BODY.text("model", "The embedding model's name; the one that is loaded where left out or citemesh.")
FORMAT = BODY.text("encoding_format", "How vectors are written.", ("float", "base64"))
BODY.unused("nothing is kept of a caller", "user")


class OpenAIEmbeddingsApi:
    """The endpoint."""

    def __init__(self, embedder: Embedder, bounds: HttpBounds) -> None:
        self._embedder = embedder
        self._bounds = bounds

    def endpoints(self) -> list[Endpoint]:
        """All of them."""
        return [
            Endpoint(
                "POST",
                "/v1/embeddings",
                self.embeddings,
                "OpenAI",
                Problem.openai,
                SUMMARY,
                body=BODY,
                answer="`data`: one embedding a text, in their order.",
            )
        ]

    async def embeddings(self, request: Request) -> Response:
        """``POST /v1/embeddings``."""
        body = await read_object(request, self._bounds.body_bytes)
        as_base64 = FORMAT.of(body) == "base64"
        options = (inputs(INPUT.of(body)), MODEL.of(body), ROLE.of(body), DIMENSIONS.of(body))
        answer = await unless_gone(request, embedded(self._embedder, *options))
        return await run_in_threadpool(_listed, answer, as_base64)


def _listed(answer: Embedded, as_base64: bool) -> Response:
    data = [
        {"object": "embedding", "index": place, "embedding": packed(vector) if as_base64 else list(vector)}
        for place, vector in enumerate(answer.vectors)
    ]
    usage = {"prompt_tokens": answer.tokens, "total_tokens": answer.tokens}
    return JSONResponse({"object": "list", "data": data, "model": answer.model, "usage": usage})


def packed(vector: Sequence[float]) -> str:
    """A vector as base64 of little-endian 32-bit floats."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")
