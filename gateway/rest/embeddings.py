"""``POST /v1/embeddings`` of OpenAI and ``POST /api/embed`` of Ollama: vectors of the model that searches use."""

import base64
import struct
import time
from collections.abc import Sequence
from typing import Any, Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from citemesh.client.types import Embedded
from citemesh.contract.bounds import MOST_SEARCHES
from citemesh.errors import InvalidInput
from gateway.query.question import check_text
from gateway.rest.ask import renamed
from gateway.rest.body import read_object
from gateway.rest.endpoint import Bounds, Endpoint
from gateway.rest.errors import Problem
from gateway.rest.fields import Fields, texts_of
from gateway.rest.gone import unless_gone

MOST_TEXTS = 2048
INPUT_SCHEMA = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
NAMES = {"texts": "input"}
ROLE_ABOUT = "passage (as documents are, the default) or query (as questions are); not OpenAI's."

OPENAI = Fields()
INPUT = OPENAI.anything("input", f"A text, or up to {MOST_TEXTS}.", INPUT_SCHEMA, True)
MODEL = OPENAI.text("model", "The embedding model's name; the one that is loaded where left out or citemesh.")
FORMAT = OPENAI.text("encoding_format", "How vectors are written.", ("float", "base64"))
DIMENSIONS = OPENAI.whole("dimensions", "Refused where it is not the model's own.")
ROLE = OPENAI.text("input_type", ROLE_ABOUT, ("passage", "query"))
OPENAI.unused("nothing is kept of a caller", "user")

OLLAMA = Fields()
OLLAMA_INPUT = OLLAMA.anything("input", f"A text, or up to {MOST_TEXTS}.", INPUT_SCHEMA, True)
OLLAMA_MODEL = OLLAMA.text("model", "As of /v1/embeddings.", required=True)
OLLAMA_ROLE = OLLAMA.text("input_type", ROLE_ABOUT, ("passage", "query"))
OLLAMA_DIMENSIONS = OLLAMA.whole("dimensions", "Refused where it is not the model's own.")
OLLAMA.unused("models stay loaded", "keep_alive", "options", "truncate")


class Embedder(Protocol):
    """Makes vectors: `citemesh.client.retrieval.RetrievalClient`."""

    async def embed(self, texts: Sequence[str], as_queries: bool = False) -> Embedded:
        """Vectors of texts."""
        ...


class EmbeddingsApi:
    """The endpoints."""

    def __init__(self, embedder: Embedder, bounds: Bounds) -> None:
        self._embedder = embedder
        self._bounds = bounds

    def endpoints(self) -> list[Endpoint]:
        """All of them."""
        summary = "Makes vectors of texts; each is read up to the model's own limit."
        return [
            Endpoint(
                "POST",
                "/v1/embeddings",
                self.openai,
                "OpenAI",
                Problem.openai,
                summary,
                body=OPENAI,
                answer="`data`: one embedding a text, in their order.",
            ),
            Endpoint(
                "POST",
                "/api/embed",
                self.ollama,
                "Ollama",
                Problem.ollama,
                summary,
                body=OLLAMA,
                answer="`embeddings`.",
            ),
        ]

    async def openai(self, request: Request) -> Response:
        """``POST /v1/embeddings``."""
        body = await read_object(request, self._bounds.body_bytes)
        as_base64 = FORMAT.of(body) == "base64"
        asked = (inputs(INPUT.of(body)), MODEL.of(body), ROLE.of(body), DIMENSIONS.of(body))
        made = await unless_gone(request, self._made(*asked))
        return await run_in_threadpool(_listed, made, as_base64)

    async def ollama(self, request: Request) -> Response:
        """``POST /api/embed``."""
        began = time.perf_counter_ns()
        body = await read_object(request, self._bounds.body_bytes)
        asked = (OLLAMA_MODEL.of(body), OLLAMA_ROLE.of(body), OLLAMA_DIMENSIONS.of(body))
        made = await unless_gone(request, self._made(inputs(OLLAMA_INPUT.of(body)), *asked))
        told: dict[str, Any] = {"model": made.model, "embeddings": [list(one) for one in made.vectors]}
        spent = {"total_duration": time.perf_counter_ns() - began, "prompt_eval_count": made.tokens}
        return await run_in_threadpool(JSONResponse, told | spent)

    async def _made(self, texts: Sequence[str], model: str, role: str, dimensions: int) -> Embedded:
        try:
            parts = [
                await self._embedder.embed(texts[start : start + MOST_SEARCHES], role == "query")
                for start in range(0, len(texts), MOST_SEARCHES)
            ]
        except InvalidInput as error:
            raise renamed(error, NAMES) from None
        vectors = tuple(one for part in parts for one in part.vectors)
        made = Embedded(vectors, parts[0].model, sum(part.tokens for part in parts))
        _check(made, model, dimensions)
        return made


def _listed(made: Embedded, as_base64: bool) -> Response:
    data = [
        {"object": "embedding", "index": at, "embedding": packed(one) if as_base64 else list(one)}
        for at, one in enumerate(made.vectors)
    ]
    usage = {"prompt_tokens": made.tokens, "total_tokens": made.tokens}
    return JSONResponse({"object": "list", "data": data, "model": made.model, "usage": usage})


def inputs(value: Any) -> tuple[str, ...]:
    """The texts to embed. Raises InvalidInput, also for token ids: they are of no model here."""
    texts = (value,) if isinstance(value, str) else texts_of("input", value)
    if not 1 <= len(texts) <= MOST_TEXTS:
        raise InvalidInput("input", f"has {len(texts)} texts", f"send 1 to {MOST_TEXTS}")
    for at, text in enumerate(texts):
        check_text("input" if isinstance(value, str) else f"input[{at}]", text, "send a text")
    return texts


def packed(vector: Sequence[float]) -> str:
    """A vector as base64 of little-endian 32-bit floats."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")


def _check(made: Embedded, model: str, dimensions: int) -> None:
    """Raises InvalidInput where the vectors are not those that were asked for."""
    if model.removesuffix(":latest") not in ("", "citemesh", made.model):
        raise InvalidInput("model", f"{model[:80]!r} is not loaded", f"use {made.model}")
    own = len(made.vectors[0])
    if dimensions not in (0, own):
        raise InvalidInput("dimensions", f"is {dimensions}", f"leave it out: the model makes {own}")
