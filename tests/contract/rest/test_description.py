"""The description of the HTTP APIs, and what a browser may do with them."""

import re
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from typing import Any

import pytest

from gateway.rest.app import ApiBackends, endpoints
from gateway.rest.core.endpoint import HttpBounds
from tests.contract.gateway.gateway_service import Running, gateway
from tests.contract.rest.rest_service import ASKED, Asked, recording


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    async with gateway() as service:
        yield service


async def test_every_path_that_is_described_is_served_and_takes_no_other_method(running: Running) -> None:
    described = (await running.http.get("/openapi.json")).json()
    assert described["openapi"].startswith("3.1")
    ids = []
    for path, methods in described["paths"].items():
        served = re.sub(r"{\w+}", "x", path)
        reply = await running.http.request("PATCH", served)
        assert reply.status_code == 405, path
        assert {method.upper() for method in methods} <= set(reply.headers["allow"].split(", ")), path
        ids += [one["operationId"] for one in methods.values()]
        for one in methods.values():
            names = [parameter["name"] for parameter in one.get("parameters", []) if parameter["in"] == "path"]
            assert names == re.findall(r"{(\w+)}", path)
    assert len(ids) == len(set(ids))


async def test_every_endpoint_that_is_served_is_described(running: Running) -> None:
    described = (await running.http.get("/openapi.json")).json()["paths"]
    anything: Any = object()
    ways = ApiBackends(anything, anything, anything, anything, anything, anything, anything)
    for one in endpoints(ways, HttpBounds(1, 1, 1)):
        assert one.method.lower() in described[re.sub(r":\w+}", "}", one.path)], one.path


class Links(HTMLParser):
    """What a page would load or run, and its ids."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "srcset", "action", "style") or name.startswith("on") or (tag == "link"):
                self.loads.append(f"{tag} {name}={value}")
            if name == "id":
                self.ids.append(value or "")
        if tag == "script":
            self.loads.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


async def test_the_page_stands_by_itself(running: Running) -> None:
    reply = await running.http.get("/docs")
    assert reply.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    page = Links()
    page.feed(reply.text)
    assert page.loads == []
    assert page.open == []
    described = (await running.http.get("/openapi.json")).json()["paths"]
    operations = {one["operationId"] for methods in described.values() for one in methods.values()}
    assert set(page.ids) == operations
    assert len(page.ids) == len(operations)


async def test_pages_of_other_origins_may_call_only_where_they_are_named() -> None:
    ask = {"origin": "https://app.acme.com", "access-control-request-method": "POST"}
    async with gateway() as running:
        assert (await running.http.options("/v1/query", headers=ask)).status_code == 405
        reply = await running.http.get("/v1/models", headers=ask)
        assert "access-control-allow-origin" not in reply.headers
    async with gateway(http_origins=("https://app.acme.com",)) as running:
        reply = await running.http.options("/v1/query", headers=ask)
        assert reply.headers["access-control-allow-origin"] == "https://app.acme.com"
        reply = await running.http.options("/v1/query", headers=ask | {"origin": "https://evil.com"})
        assert "access-control-allow-origin" not in reply.headers


async def test_all_fields_of_a_question(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Asked = recording(monkeypatch)
    body = {
        "query": ASKED,
        "collection": "papers",
        "more_collections": ["notes"],
        "filter": {
            "document_ids": ["d1"],
            "domains": ["-wiki.org"],
            "languages": ["en"],
            "published_after": "2024-01-31",
            "published_before": "2024-12-31T12:00:00+02:00",
            "metadata": {"team": "a"},
            "conditions": [
                {"key": "year", "number": {"from": 2020}},
                {"key": "day", "text": {"to": "2024-05"}},
                {"key": "kind", "any_of": ["x", "y"]},
            ],
        },
        "answer_language": "zh",
        "length": "short",
        "style": "steps",
        "related_questions": 2,
        "max_hops": 3,
        "skip_cache": True,
        "history": [{"role": "user", "text": "What is it?"}, {"role": "assistant", "text": "A pump."}],
        "mode": "generated",
        "max_tokens": 50,
        "temperature": 1,
    }
    reply = await running.http.post("/v1/query", json=body)
    assert reply.status_code == 200, reply.text
    question = asked.last
    assert (question.more_collections, question.answer_language, question.length) == (("notes",), "zh", "short")
    assert (question.style, question.related_questions, question.max_hops) == ("steps", 2, 3)
    assert (question.skip_cache, question.history[1]) == (True, ("assistant", "A pump."))
    chosen = question.filter
    assert (chosen.document_ids, chosen.domains, chosen.metadata) == (("d1",), ("-wiki.org",), {"team": "a"})
    assert chosen.published_after is not None
    assert chosen.published_before is not None
    assert (chosen.published_after.isoformat(), chosen.published_before.isoformat()) == (
        "2024-01-31T00:00:00+00:00",
        "2024-12-31T10:00:00+00:00",
    )
    assert [one.key for one in chosen.conditions] == ["year", "day", "kind"]
    assert [one.numbers for one in chosen.conditions] == [(2020, None), None, None]
    assert [one.texts for one in chosen.conditions] == [None, ("", "2024-05"), None]
    assert len(reply.json()["related_questions"]) == 2


BAD: list[tuple[dict[str, Any], str]] = [
    ({"filter": []}, "filter"),
    ({"filter": {"domains": "a"}}, "filter.domains"),
    ({"filter": {"published_after": "yesterday"}}, "filter.published_after"),
    ({"filter": {"metadata": {"a": 1}}}, "filter.metadata.a"),
    ({"filter": {"conditions": [{"key": "a"}]}}, "filter.conditions[0]"),
    ({"filter": {"conditions": [{"key": "a", "number": {"from": "x"}}]}}, "filter.from"),
    ({"length": "epic"}, "length"),
    ({"history": [{"role": "system", "text": "x"}]}, "history[0].role"),
    ({"history": ["x"]}, "history[0]"),
    ({"history": [{"role": "user"}]}, "history[0].text"),
    ({"max_hops": 9}, "max_hops"),
    ({"thread_id": 5}, "thread_id"),
]


async def test_bad_fields_are_named(running: Running) -> None:
    for more, field in BAD:
        reply = await running.http.post("/v1/query", json={"query": ASKED} | more)
        assert (reply.status_code, reply.json()["error"].get("field")) == (400, field), reply.text


async def test_search_answers_passages(running: Running) -> None:
    reply = await running.http.post("/v1/search", json={"query": ASKED, "top_k": 2, "source_preference": "pdf"})
    found = reply.json()["sources"]
    assert [(one["number"], one["document_id"]) for one in found] == [(1, "d1"), (2, "d2")]
    assert found[0]["quote"] == "The pump runs at 40 bar. It needs oil."
    reply = await running.http.post("/v1/search", json={"query": "q", "top_k": 101})
    assert reply.json()["error"]["field"] == "top_k"


async def test_threads_are_kept_listed_read_and_deleted(running: Running) -> None:
    http = running.http
    first = (await http.post("/v1/query", json={"query": ASKED, "start_thread": True})).json()
    name = first["thread_id"]
    assert name
    second = (await http.post("/v1/query", json={"query": "When was it built?", "thread_id": name})).json()
    assert second["thread_id"] == name
    [listed] = (await http.get("/v1/threads")).json()["threads"]
    assert (listed["thread_id"], listed["title"], listed["turn_count"]) == (name, ASKED, 2)
    read = (await http.get(f"/v1/threads/{name}")).json()
    assert [turn["question"] for turn in read["turns"]] == [ASKED, "When was it built?"]
    assert read["turns"][0]["answer"] == first["text"]
    assert [one["number"] for one in read["turns"][0]["sources"]] == first["cited"]
    assert (await http.get("/v1/threads", params={"page_size": 0})).json()["error"]["field"] == "page_size"
    other = {"x-citemesh-subject": "someone else"}
    assert (await http.get(f"/v1/threads/{name}", headers=other)).status_code == 404
    assert (await http.get("/v1/threads", headers=other)).json()["threads"] == []
    assert (await http.delete(f"/v1/threads/{name}", headers=other)).status_code == 404
    assert (await http.delete(f"/v1/threads/{name}")).status_code == 204
    assert (await http.get(f"/v1/threads/{name}")).status_code == 404


async def test_a_thread_of_another_gateway_is_not_found_and_history_stands_in_for_it() -> None:
    async with gateway() as one, gateway() as other:
        begun = (await one.http.post("/v1/query", json={"query": ASKED, "start_thread": True})).json()
        reply = await other.http.post("/v1/query", json={"query": "Who built it?", "thread_id": begun["thread_id"]})
        error = reply.json()["error"]
        assert (reply.status_code, error["code"]) == (404, "NOT_FOUND")
        assert "new one" in error["remedy"]
        history = [{"role": "user", "text": ASKED}, {"role": "assistant", "text": begun["text"]}]
        told = await other.http.post("/v1/query", json={"query": "Who built it?", "history": history})
        assert told.status_code == 200
        assert other.mesh.retrieval.searches[-1].query != "Who built it?"
