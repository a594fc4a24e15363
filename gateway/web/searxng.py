"""The JSON API of SearXNG: GET /search?q=…&format=json, of which title, url and content of each result are read.

What comes back is as little to be trusted as any document: it is bounded, and results without an http address or a
text are left out. A result's snippet is its passage; spans of citations count in it, not in the page.
"""

import asyncio
import hashlib
import json
from typing import Any
from urllib.parse import urlsplit

import httpx

from citemesh.client.types import Location, Passage, SearchFilter, Span
from citemesh.errors import Unavailable

MOST_BYTES = 2 * 1024 * 1024
LONGEST_TEXT = 4000
LONGEST_TITLE = 300
LONGEST_QUERY = 500
WHAT = "the web's search engine"


class SearXng:
    """Asks one SearXNG.

    Args:
        address: its http(s) address, without /search.
        timeout_s: longest wait for its answer.
        transport: how it is reached, for tests.
    """

    def __init__(self, address: str, timeout_s: float, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._address, self._timeout_s, self._transport = address.rstrip("/"), timeout_s, transport

    async def search(self, query: str, search_filter: SearchFilter, most: int) -> tuple[Passage, ...]:
        """Passages, best first."""
        parameters = {"q": query[:LONGEST_QUERY], "format": "json"}
        if len(search_filter.languages) == 1:
            parameters["language"] = search_filter.languages[0]
        try:
            async with asyncio.timeout(self._timeout_s):
                hits = results(await self._get(parameters))
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, ValueError, RecursionError) as error:
            raise Unavailable(WHAT, remedy=f"{type(error).__name__}: see that it answers JSON") from error
        passages = [
            candidate
            for candidate in map(passage, hits)
            if candidate is not None and _in_domains(candidate.uri, search_filter.domains)
        ]
        return tuple(passages[:most])

    async def _get(self, parameters: dict[str, str]) -> bytes:
        """The body of its answer. Raises ValueError where it is too long or no success."""
        # No proxy of the environment: the address is the operator's. No redirect: it could lead into the house.
        async with (
            httpx.AsyncClient(trust_env=False, timeout=self._timeout_s, transport=self._transport) as client,
            client.stream("GET", f"{self._address}/search", params=parameters) as response,
        ):
            if response.status_code != httpx.codes.OK:
                raise ValueError(f"status {response.status_code}")
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MOST_BYTES:
                    raise ValueError("the answer is too long")
            return bytes(body)


def results(body: bytes) -> list[dict[str, Any]]:
    """The results in an answer. Raises ValueError where it isn't one."""
    answer = json.loads(body)
    hits = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(hits, list):
        raise ValueError("the answer has no list of results")
    return [hit for hit in hits if isinstance(hit, dict)]


def passage(result: dict[str, Any]) -> Passage | None:
    """A result as a passage; None where it has no http address or no text."""
    address, text = result.get("url"), clean(result.get("content"), LONGEST_TEXT)
    if not isinstance(address, str) or not _is_http(address) or not text:
        return None
    title = clean(result.get("title"), LONGEST_TITLE) or address
    document = hashlib.sha256(address.encode()).hexdigest()[:32]
    chunk = hashlib.sha256(f"{address}\n{text}".encode()).hexdigest()[:32]
    score = result.get("score")
    fused = min(1.0, max(0.0, float(score))) if isinstance(score, int | float) else 0.0
    return Passage(chunk, document, "", title, address, Location(Span(0, len(text))), text, (), "", fused)


def clean(text: object, longest: int) -> str:
    """A text on one line without control characters, cut at a limit; empty for what is no text."""
    if not isinstance(text, str):
        return ""
    printable = "".join(char if char.isprintable() else " " for char in text[: 2 * longest])
    return " ".join(printable.split())[:longest]


def _is_http(address: str) -> bool:
    try:
        parts = urlsplit(address)
        address.encode()
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and len(address) <= 2048


def _in_domains(address: str, domains: tuple[str, ...]) -> bool:
    host = (urlsplit(address).hostname or "").lower()
    denied = [domain[1:] for domain in domains if domain.startswith("-")]
    allowed = [domain for domain in domains if not domain.startswith("-")]
    return not any(_of(host, pattern) for pattern in denied) and (
        not allowed or any(_of(host, pattern) for pattern in allowed)
    )


def _of(host: str, domain: str) -> bool:
    domain = domain.lower().strip(".")
    return host == domain or host.endswith(f".{domain}")
