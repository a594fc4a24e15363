"""The web beside the collections, against a stand-in that speaks SearXNG's API on a socket of this machine."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from citemesh.client.types import Question, Search, SearchFilter
from citemesh.errors import NotSupported, PermissionDenied, Unavailable
from gateway.query.flow import Flow
from gateway.query.ports import Upstreams
from gateway.web.searxng import SearXng
from gateway.web.source import WithWeb
from tests.unit.gateway.query.asking import ASKED, said_by
from tests.unit.gateway.query.fakes import LIMITS, Mesh, assert_sound, citations_of, done_of, sources_of

GOOD = {
    "url": "https://pumps.example/a",
    "title": "Pumps",
    "content": "The web pump runs at\n 40 bar\x00 pressure.",
    "score": 1.5,
}
RESULTS = [
    GOOD,
    {"url": "javascript:alert(1)", "title": "Bad", "content": "The pump runs."},
    {"url": "https://empty.example/", "title": "Empty", "content": ""},
    {"url": "http://[", "title": "Broken", "content": "The pump runs."},
    "nonsense",
    {"url": "https://other.example/b", "title": None, "content": "It was built in 1987 by Acme.", "score": "high"},
]


class StandIn:
    """Answers what the test says; remembers what it was asked."""

    def __init__(self, body: bytes, status: int = 200, wait: asyncio.Event | None = None) -> None:
        self.body, self.status, self.wait, self.asked = body, status, wait, list[dict[str, list[str]]]()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.asked.append(parse_qs(urlsplit(head.split()[1].decode()).query))
        if self.wait:
            await self.wait.wait()
        start = f"HTTP/1.1 {self.status} X\r\nContent-Length: {len(self.body)}\r\nConnection: close\r\n\r\n"
        writer.write(start.encode() + self.body)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def serving(stand_in: StandIn, timeout_s: float = 5.0) -> AsyncIterator[SearXng]:
    server = await asyncio.start_server(stand_in.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        yield SearXng(f"http://127.0.0.1:{port}/", timeout_s)


def answer(results: list[Any] = RESULTS) -> bytes:
    return json.dumps({"query": "q", "results": results}).encode()


def beside(mesh: Mesh, web: SearXng, allowed: Callable[[str], bool] = lambda name: True) -> Upstreams:
    return replace(mesh.services, retrieval=WithWeb(mesh.retrieval, web, "web", allowed))


async def test_results_are_passages_and_bad_ones_are_left_out() -> None:
    stand_in = StandIn(answer())
    async with serving(stand_in) as web:
        first, second = await web.search("pump 水泵", SearchFilter(languages=("de",)), 10)
    assert stand_in.asked == [{"q": ["pump 水泵"], "format": ["json"], "language": ["de"]}]
    assert (first.text, first.title, first.fused) == ("The web pump runs at 40 bar pressure.", "Pumps", 1.0)
    assert (second.title, second.fused) == ("https://other.example/b", 0.0)
    assert first.location.span.end == len(first.text)


async def test_the_web_is_one_source_beside_the_collections() -> None:
    mesh, stand_in = Mesh(), StandIn(answer())
    async with serving(stand_in) as web:
        flow = Flow(beside(mesh, web), LIMITS)
        said = await said_by(flow, Question(ASKED, more_collections=("web",)))
        again = await said_by(flow, Question(ASKED, more_collections=("web",)))
    assert_sound(said)
    assert {source.collection for source in sources_of(said).sources} == {"default", "web"}
    assert any(one.collection == "web" for event in citations_of(said) for one in event.citations)
    assert [search.collection for search in mesh.retrieval.searches if search.top_k > 1] == ["default", "default"]
    assert not done_of(again).cached
    assert len(stand_in.asked) == 2


async def test_it_is_off_where_no_question_names_it() -> None:
    stand_in = StandIn(answer())
    async with serving(stand_in) as web:
        await said_by(Flow(beside(Mesh(), web), LIMITS), ASKED)
    assert stand_in.asked == []


@pytest.mark.parametrize(
    "stand_in",
    [
        StandIn(b"<html>", 200),
        StandIn(answer(), 500),
        StandIn(b"[]"),
        StandIn(b'{"results": 3}'),
        StandIn(b"[" * 100_000),
        StandIn(b'{"results": [' + b" " * (3 << 20) + b"]}"),
        StandIn(answer(), 302),
    ],
)
async def test_an_engine_that_answers_otherwise_is_said_and_the_rest_answers(stand_in: StandIn) -> None:
    async with serving(stand_in) as web:
        with pytest.raises(Unavailable):
            await web.search("pump", SearchFilter(), 3)
        said = await said_by(Flow(beside(Mesh(), web), LIMITS), Question(ASKED, more_collections=("web",)))
    assert_sound(said)
    assert "web was not searched" in done_of(said).notice


async def test_an_engine_that_hangs_is_given_up() -> None:
    async with serving(StandIn(answer(), wait=asyncio.Event()), 0.1) as web:
        with pytest.raises(Unavailable):
            await web.search("pump", SearchFilter(), 3)
    with pytest.raises(Unavailable):
        await SearXng("http://127.0.0.1:1", 1.0).search("pump", SearchFilter(), 3)


async def test_domains_hold_and_other_filters_are_refused() -> None:
    async with serving(StandIn(answer())) as web:
        for domains, expected in (
            (("example",), 2),
            (("pumps.example",), 1),
            (("-pumps.example",), 1),
            (("umps.example",), 0),
        ):
            assert len(await web.search("pump", SearchFilter(domains=domains), 9)) == expected
        port = beside(Mesh(), web).retrieval
        with pytest.raises(NotSupported):
            await port.find(Search("q", "web", filter=SearchFilter(metadata={"a": "b"})))


async def test_a_key_without_the_web_does_not_reach_it() -> None:
    stand_in = StandIn(answer())
    async with serving(stand_in) as web:
        with pytest.raises(PermissionDenied):
            await beside(Mesh(), web, lambda name: name != "web").retrieval.find(Search("q", "web"))
    assert stand_in.asked == []
