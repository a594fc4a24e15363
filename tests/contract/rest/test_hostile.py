"""Values that no one should send, in every field of every endpoint: they are refused or left alone, never a fault."""

import json
import os
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.rest.app import ApiBackends, endpoints
from gateway.rest.core.endpoint import HttpBounds
from tests.contract.gateway.gateway_service import Running
from tests.contract.rest.library_service import library
from tests.contract.rest.rest_service import ASKED, MESSAGES

VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**30, 1.5, float("nan"), "", " ", "x", "half \ud83d", "\x00", "x" * 40_000, "👩‍🔬"),
    *([], [None], ["x"], [[]], [{}], ["half \ud83d"], {}, {"type": "x"}, {"a": {"b": [1]}}, {"half \ud83d": "\ud83d"}),
    *({"name": "half \ud83d"}, {"filters": {"search_domain_filter": ["\ud83d"]}}, {"temperature": "\ud83d"}),
    *([{"role": "user", "content": "\ud83d"}], [{"role": 5, "content": []}], [{"role": "user", "content": [None]}]),
    *(
        {"domains": ["\ud83d"]},
        {"metadata": {"\ud83d": "\ud83d"}},
        {"conditions": [{"key": "\ud83d", "any_of": ["\ud83d"]}]},
    ),
)
VALID = {"query": ASKED, "input": ASKED, "prompt": ASKED, "messages": MESSAGES, "model": "citemesh", "name": "made"}
TRIES = int(os.environ.get("HOSTILE_TRIES", "50"))


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with library(tmp_path) as service:
        yield service


def sampled(all_of_them: list[Any]) -> list[Any]:
    """As many as the time of a quick check allows, the same ones each time; HOSTILE_TRIES asks for more."""
    return random.Random(7).sample(all_of_them, min(TRIES, len(all_of_them)))


def bodies() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each endpoint's path with a valid body of which one field was replaced."""
    anything: Any = object()
    ways = ApiBackends(anything, anything, anything, anything, anything, anything, anything)
    for one in endpoints(ways, HttpBounds(1, 1, 1)):
        for field in one.body.schema()["properties"] if one.body else ():
            for value in VALUES:
                yield one.path, VALID | {field: value}


async def test_bodies(running: Running) -> None:
    for path, body in sampled(list(bodies())):
        reply = await running.http.post(path, content=json.dumps(body))
        assert reply.status_code < 500, (path, body, reply.text)
        assert reply.content


NAMES = ("collection", "page_size", "page_token", "table_id", "text", "start", "end", "title", "uri", "metadata")
TEXTS = ("", "x", "-1", "1" * 5000, "half %ED%A0%BD", "%00", "👩‍🔬", "[1]", '{"a":1}', '{"\\ud83d":"\\ud83d"}', "nan")
CALLS = (("GET", "/v1/documents"), ("GET", "/v1/documents/x"), ("POST", "/v1/documents"))
PATHS = ("/v1/threads", "/v1/threads/x", "/v1/collections/%00", "/v1/collections/half%ED%A0%BD", "/v1/documents/%00")


def calls() -> Iterator[tuple[str, str]]:
    """Methods and addresses."""
    for name in (*NAMES, "document_id", "filename", "stream"):
        for text in TEXTS:
            for method, path in CALLS:
                yield method, f"{path}?{name}={text}"


async def test_parameters(running: Running) -> None:
    found = sampled(list(calls()))
    found += [(method, f"{path}?page_token=%ED%A0%BD") for path in PATHS for method in ("GET", "DELETE")]
    for method, address in found:
        content = b"# A\n\nText." if method == "POST" else None
        reply = await running.http.request(method, address, content=content)
        assert reply.status_code < 500, (method, address, reply.text)
