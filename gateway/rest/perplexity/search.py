"""Perplexity's search: ``POST /search``; one result a document, best first."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, zip_longest
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from citemesh.client.types import Source
from citemesh.errors import InvalidInput
from gateway.query.question import check_text
from gateway.rest.core.body import read_object
from gateway.rest.core.endpoint import Asking, Endpoint, HttpBounds
from gateway.rest.core.errors import Problem
from gateway.rest.core.fields import Fields, texts_of
from gateway.rest.core.links import Links
from gateway.rest.core.question import search_options
from gateway.rest.core.question.field_names import renamed
from gateway.rest.core.question.fields import COLLECTION, MORE_COLLECTIONS, SOURCE_PREFERENCE, source_types
from gateway.rest.core.render import day
from gateway.rest.core.streaming.disconnect import unless_gone
from gateway.rest.perplexity import fields as fields

MOST_RESULTS = 20
DEFAULT_RESULTS = 10
MOST_QUERIES = 5
PASSAGES_A_RESULT = 4
"""Passages that are looked at for each result, since several may be of one document."""
SIZE_PASSAGES = {"low": 1, "medium": 2, "high": PASSAGES_A_RESULT, "": PASSAGES_A_RESULT}
"""Passages of one document that make its snippet."""
QUERY_SCHEMA = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}

SEARCH = Fields(search_options.FILTERS)
QUERY = SEARCH.anything("query", f"What to look for: a text, or up to {MOST_QUERIES}.", QUERY_SCHEMA, True)
MAX_RESULTS = SEARCH.whole("max_results", f"Most results, 1 to {MOST_RESULTS}.", DEFAULT_RESULTS)
SIZE = SEARCH.text("search_context_size", "How many passages of a document its snippet has.", search_options.SIZES)
SERVER_TIME = SEARCH.flag("display_server_time", "Tells the server's time.")
SEARCH.unused("a snippet is whole passages", "max_tokens", "max_tokens_per_page")
SEARCH.unused("there is one kind of search", "search_type", "country")


class PerplexitySearchApi:
    """The endpoint."""

    def __init__(self, answering: Asking, bounds: HttpBounds) -> None:
        self._answering = answering
        self._bounds = bounds

    def endpoints(self) -> list[Endpoint]:
        """It."""
        return [
            Endpoint(
                "POST",
                "/search",
                self.search,
                "Perplexity",
                Problem.perplexity,
                "Finds documents.",
                body=SEARCH,
                answer="`results`: title, url, snippet; one a document, best first.",
            )
        ]

    async def search(self, request: Request) -> Response:
        """``POST /search``."""
        body = await read_object(request, self._bounds.body_bytes)
        asked, most = queries(QUERY.of(body)), MAX_RESULTS.of(body)
        if not 1 <= most <= MOST_RESULTS:
            raise InvalidInput(MAX_RESULTS.name, f"is {most}", f"use 1 to {MOST_RESULTS}")
        found = await unless_gone(request, self._all(asked, body, most))
        links, size = Links.of(request), SIZE_PASSAGES[SIZE.of(body)]
        results = [_result(passages[:size], links) for passages in by_document(merged(found))[:most]]
        time = {"server_time": datetime.now(UTC).isoformat()} if SERVER_TIME.of(body) else {}
        return JSONResponse({"id": str(uuid.uuid4()), "results": results, "ignored": SEARCH.ignored(body)} | time)

    async def _all(self, asked: Sequence[str], body: Mapping[str, Any], most: int) -> list[tuple[Source, ...]]:
        chosen = search_options.filter_of(body, datetime.now(UTC))
        kinds = source_types(SOURCE_PREFERENCE.of(body))
        collections = (COLLECTION.of(body), most * PASSAGES_A_RESULT, kinds, chosen, MORE_COLLECTIONS.of(body))
        try:
            return await asyncio.gather(*(self._answering.search(one, *collections) for one in asked))
        except InvalidInput as error:
            raise renamed(error, fields.NAMES) from None


def queries(value: Any) -> tuple[str, ...]:
    """One query or several. Raises InvalidInput."""
    found = (value,) if isinstance(value, str) else texts_of(QUERY.name, value)
    if not 1 <= len(found) <= MOST_QUERIES:
        raise InvalidInput(QUERY.name, f"has {len(found)} texts", f"send 1 to {MOST_QUERIES}")
    for at, one in enumerate(found):
        check_text(QUERY.name if isinstance(value, str) else f"{QUERY.name}[{at}]", one)
    return found


def merged(found: Sequence[Sequence[Source]]) -> list[Source]:
    """The passages of several searches in turn: the best of each, then the second best, each passage once."""
    kept: dict[str, Source] = {}
    for one in chain.from_iterable(zip_longest(*found)):
        if one is not None:
            kept.setdefault(one.chunk_id, one)
    return list(kept.values())


def by_document(passages: Sequence[Source]) -> list[list[Source]]:
    """The passages of each document, documents and passages in their order."""
    found: dict[tuple[str, str], list[Source]] = {}
    for one in passages:
        found.setdefault((one.collection, one.document_id), []).append(one)
    return list(found.values())


def _result(passages: Sequence[Source], links: Links) -> dict[str, Any]:
    in_order = sorted(passages, key=lambda one: one.location.span.start)
    snippet = "\n…\n".join(one.text for one in in_order)
    first = passages[0]
    return {"title": first.title, "url": links.to(first), "snippet": snippet, "date": day(first), "last_updated": None}
