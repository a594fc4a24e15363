"""Client of an embedding model behind the OpenAI API, `POST <base>/embeddings`: with a deadline and a retry budget."""

import base64
import json
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np

from citemesh.errors import DeadlineExceeded, Overloaded, PreconditionFailed, Unavailable
from services.retrieval.types.chunk import Vector

_SERVICE = "the embedding endpoint"
_TRIES = 4
_RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504})
_LONGEST_ANSWER = 64 << 20
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 8.0


@dataclass(frozen=True, slots=True)
class EndpointAddress:
    """Where the endpoint is and how it is asked.

    Attributes:
        base: such as https://api.openai.com/v1.
        model: the name that it knows the model by.
        key: sent as a bearer token; empty sends none.
        dimension: of its vectors.
        timeout_s: for one batch, retries included.
    """

    base: str
    model: str
    dimension: int
    key: str = ""
    timeout_s: float = 30.0


class RetryBudget:
    """One retry for every ten answers, and ten to begin with, so that an endpoint that is down isn't asked more."""

    def __init__(self, most: float = 10.0, earned: float = 0.1) -> None:
        self._left = self._most = most
        self._earned = earned
        self._lock = threading.Lock()

    def earn(self) -> None:
        """Notes an answer."""
        with self._lock:
            self._left = min(self._most, self._left + self._earned)

    def spend(self) -> bool:
        """Takes a retry, where one is left."""
        with self._lock:
            if self._left < 1:
                return False
            self._left -= 1
            return True


class EmbeddingEndpoint:
    """Vectors of texts. Blocks; may be called from several threads at once."""

    def __init__(self, address: EndpointAddress, transport: httpx.BaseTransport | None = None) -> None:
        headers = {"authorization": f"Bearer {address.key}"} if address.key else {}
        # No redirects: the key is for this address. No environment: settings alone say how it is reached.
        self._client = httpx.Client(headers=headers, trust_env=False, transport=transport)
        self._address = address
        self._url = f"{address.base.rstrip('/')}/embeddings"
        self._budget = RetryBudget()

    def vectors(self, texts: Sequence[str]) -> Vector:
        """Vectors of length one, shape (len(texts), dimension).

        Raises Unavailable, Overloaded, DeadlineExceeded once the retries are spent, PreconditionFailed where the
        endpoint refuses or answers something else than vectors of the dimension.
        """
        ends_at = time.monotonic() + self._address.timeout_s
        body = {"model": self._address.model, "input": list(texts), "encoding_format": "float"}
        for tried in range(1, _TRIES + 1):
            try:
                answer = self._ask(body, ends_at)
            except (Unavailable, Overloaded) as error:
                pause = _pause(tried, error.retry_after_s)
                if tried == _TRIES or time.monotonic() + pause >= ends_at or not self._budget.spend():
                    raise
                time.sleep(pause)  # a thread of its own, no event loop
            else:
                self._budget.earn()
                return self._checked(answer, len(texts))
        raise AssertionError("the last try returns or raises")

    def _ask(self, body: dict[str, Any], ends_at: float) -> Any:
        left = ends_at - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded(f"{_SERVICE} did not answer")
        try:
            with self._client.stream("POST", self._url, json=body, timeout=left) as response:
                if response.status_code != 200:
                    raise _refused(response)
                return json.loads(_read(response, ends_at))
        except httpx.TimeoutException:
            raise DeadlineExceeded(f"{_SERVICE} did not answer within {self._address.timeout_s:g} s") from None
        except httpx.HTTPError as error:
            raise Unavailable(f"{_SERVICE} ({type(error).__name__})", 1.0) from None
        except ValueError:
            raise _unusable("it is not JSON") from None

    def _checked(self, answer: Any, count: int) -> Vector:
        """The vectors in the answer, in the order of their texts."""
        try:
            by_index = {int(entry["index"]): _numbers(entry["embedding"]) for entry in answer["data"]}
            rows = [by_index[number] for number in range(count)]
        except (TypeError, KeyError, ValueError):
            raise _unusable(f"it holds no vector for each of {count} texts") from None
        for row in rows:
            if row.shape != (self._address.dimension,):
                raise PreconditionFailed(
                    "MODEL_MISMATCH",
                    f"{_SERVICE} gave vectors of dimension {row.size}, and {self._address.dimension} is set",
                    "set CITEMESH_RETRIEVAL_EMBEDDING_DIMENSION to what the model gives",
                )
        vectors = np.array(rows, np.float32).reshape(count, self._address.dimension)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise _unusable("a vector is zero or not finite")
        return np.asarray(vectors / lengths, np.float32)


def _read(response: httpx.Response, ends_at: float) -> bytes:
    """The body, bounded in bytes and in time: a server that trickles would else never time out."""
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) > _LONGEST_ANSWER:
            raise _unusable(f"it has over {_LONGEST_ANSWER >> 20} MiB")
        if time.monotonic() > ends_at:
            raise DeadlineExceeded(f"{_SERVICE} did not answer in time")
    return bytes(body)


def _numbers(embedding: Any) -> Vector:
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    return np.array(embedding, np.float32)


def _refused(response: httpx.Response) -> Exception:
    """What a status says. The answer's text is left out: it may repeat what was sent."""
    status = response.status_code
    if status == 429:
        return Overloaded(_SERVICE, _retry_after(response))
    if status in _RETRIED:
        return Unavailable(f"{_SERVICE} (status {status})", _retry_after(response))
    if status in (401, 403):
        return PreconditionFailed(
            "EMBEDDING_KEY_REFUSED",
            f"{_SERVICE} refused the key (status {status})",
            "set CITEMESH_RETRIEVAL_EMBEDDING_KEY_FILE to a file with a key that it takes",
        )
    return PreconditionFailed(
        "EMBEDDING_REFUSED",
        f"{_SERVICE} refused the call (status {status})",
        "check CITEMESH_RETRIEVAL_EMBEDDING_URL and _MODEL; lower _CHUNK_TOKENS if it takes less text",
    )


def _retry_after(response: httpx.Response) -> float:
    seconds = response.headers.get("retry-after", "")
    return float(seconds) if seconds.isascii() and seconds.isdigit() and len(seconds) < 6 else 0.0


def _pause(tried: int, least_s: float) -> float:
    """Seconds before the next try: twice as long each time, of which half or more at random, at least `least_s`."""
    longest = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * float(2 ** (tried - 1)))
    return max(least_s, longest * (0.5 + random.random() / 2))  # noqa: S311  # no secret


def _unusable(fault: str) -> PreconditionFailed:
    return PreconditionFailed(
        "EMBEDDING_ANSWER", f"the answer of {_SERVICE} can't be used: {fault}", "check CITEMESH_RETRIEVAL_EMBEDDING_URL"
    )
