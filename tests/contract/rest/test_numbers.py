"""One document has one number, in every way in: in the text, in the list of sources and in what points at it."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import openai
import perplexity
import pytest

from citemesh.client.types import Passage
from tests.contract.gateway.gateway_service import Running, gateway
from tests.contract.rest.rest_service import over, sse
from tests.unit.gateway.query import fakes

# Passages of three documents, in turn: the first document's again behind the second's, the third's nearly the same.
PASSAGES = (
    fakes.passage("The pump runs at 40 bar.", "d1", 0, "Manual"),
    fakes.passage("It was built in 1987.", "d2", 0, "History"),
    fakes.passage("Its pump needs oil each year.", "d1", 900, "Manual"),
    fakes.passage("The pump has four legs.", "d3", 0, ""),
    fakes.passage("It was sold in 1999.", "d2", 300, "History"),
)
BY_SENTENCE = {
    "It was sold in 1999.": "d2",
    "Its pump needs oil each year.": "d1",
    "The pump runs at 40 bar.": "d1",
    "The pump has four legs.": "d3",
}
ASKED = "When was the pump built and sold, at what bar does it run, with how many legs and how much oil each year?"
MESSAGES: Any = [{"role": "user", "content": ASKED}]
SAID = tuple(f"{sentence} " for sentence in BY_SENTENCE)
QUESTION = {"query": ASKED, "input": ASKED, "prompt": ASKED, "messages": MESSAGES}
SENTENCE = re.compile(r"\s*([^\[\]]+?\.)((?:\[\d+\])+)")

Read = Callable[[Any], tuple[str, list[str]]]


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    mesh = fakes.Mesh(retrieval=fakes.FakeRetrieval(PASSAGES), generation=fakes.FakeGeneration(deltas=SAID))
    async with gateway(mesh, sources=8) as service:
        yield service


def document_of(url: str) -> str:
    return re.sub(r".*(d\d)\b.*", r"\1", url)


def sources_of(body: Any) -> list[str]:
    assert [one["number"] for one in body["sources"]] == list(range(1, len(body["sources"]) + 1))
    return [one["document_id"] for one in body["sources"]]


def native(body: Any) -> tuple[str, list[str]]:
    return body["answer"], sources_of(body)


def chat(body: Any) -> tuple[str, list[str]]:
    return body["choices"][0]["message"]["content"], sources_of(body)


def sonar(body: Any) -> tuple[str, list[str]]:
    assert [one["url"] for one in body["search_results"]] == body["citations"]
    return body["choices"][0]["message"]["content"], [document_of(one) for one in body["citations"]]


def agent(body: Any) -> tuple[str, list[str]]:
    found, message = body["output"]
    part = message["content"][0]
    assert [one["id"] for one in found["results"]] == list(range(1, len(found["results"]) + 1))
    for note in part["annotations"]:
        number = int(part["text"][note["start_index"] + 1 : note["end_index"] - 1])
        assert note["url"] == found["results"][number - 1]["url"]
    return part["text"], [document_of(one["url"]) for one in found["results"]]


def ollama_chat(body: Any) -> tuple[str, list[str]]:
    return body["message"]["content"], sources_of(body)


def ollama_generate(body: Any) -> tuple[str, list[str]]:
    return body["response"], sources_of(body)


WAYS: list[tuple[str, str, Read]] = [
    ("/v1/query", "", native),
    ("/v1/chat/completions", "citemesh", chat),
    ("/chat/completions", "sonar", sonar),
    ("/v1/sonar", "citemesh", sonar),
    ("/v1/responses", "citemesh", agent),
    ("/v1/agent", "sonar", agent),
    ("/api/chat", "citemesh", ollama_chat),
    ("/api/generate", "citemesh", ollama_generate),
]


def assert_numbered(text: str, listed: list[str]) -> None:
    """Every marker is of the list, names the right document, and every document is listed once."""
    assert len(listed) == len(set(listed))
    sentences = SENTENCE.findall(text)
    assert "".join(sentence + markers for sentence, markers in sentences) == re.sub(r"\s+(?=[A-Z])", "", text).strip()
    assert [sentence for sentence, _ in sentences] == list(BY_SENTENCE)
    for sentence, markers in sentences:
        numbers = [int(number) for number in re.findall(r"\d+", markers)]
        assert all(1 <= number <= len(listed) for number in numbers)
        assert BY_SENTENCE[sentence] in [listed[number - 1] for number in numbers]
        assert len(numbers) == len(set(numbers))


async def test_every_way_in_numbers_documents_alike(running: Running) -> None:
    lists = []
    for path, model, read in WAYS:
        reply = await running.http.post(path, json=QUESTION | {"model": model, "stream": False})
        assert reply.status_code == 200, reply.text
        text, listed = read(reply.json())
        assert_numbered(text, listed)
        lists.append(listed)
    assert all(one == lists[0] for one in lists)


async def test_what_nothing_cites_is_listed_only_where_it_is_asked_for() -> None:
    async with gateway() as other:
        for path, model in (("/v1/query", ""), ("/v1/chat/completions", "citemesh"), ("/api/chat", "citemesh")):
            body = QUESTION | {"model": model, "stream": False}
            found = (await other.http.post(path, json=body)).json()["sources"]
            assert [(one["number"], one["cited"]) for one in found] == [(1, True), (2, True)], path
            every = (await other.http.post(path, json=body | {"all_sources": True})).json()["sources"]
            assert [(one["number"], one["cited"]) for one in every] == [(1, True), (2, True), (3, False)], path
        body = QUESTION | {"model": "citemesh", "stream": True}
        events = [data for _, data in sse((await other.http.post("/v1/chat/completions", json=body)).text)[:-1]]
        lists = [[one["number"] for one in event["sources"]] for event in events if "sources" in event]
        assert lists == [[1, 2, 3], [1, 2]]


async def test_streams_number_as_whole_answers_do(running: Running) -> None:
    """What a stream adds up to is what the whole answer is, and no list of sources is lost on the way."""
    body = QUESTION | {"model": "sonar", "stream": True}
    events = [data for _, data in sse((await running.http.post("/chat/completions", json=body)).text)[:-1]]
    text = "".join(one["choices"][0]["delta"]["content"] for one in events)
    assert_numbered(text, [document_of(one) for one in events[-1]["citations"]])
    assert events[0]["citations"] == events[-1]["citations"]
    lines = (await running.http.post("/api/chat", json=QUESTION | {"model": "citemesh"})).text.splitlines()
    parts = [json.loads(line) for line in lines]
    assert_numbered("".join(one["message"]["content"] for one in parts), ollama_chat(parts[-1])[1])
    reply = await running.http.post("/v1/responses", json=QUESTION | {"stream": True})
    last = sse(reply.text)[-2][1]
    assert_numbered(*agent(last["response"]))
    reply = await running.http.post("/v1/chat/completions", json=QUESTION | {"model": "citemesh", "stream": True})
    events = [data for _, data in sse(reply.text)[:-1]]
    text = "".join(one["choices"][0]["delta"].get("content", "") for one in events)
    sources = next(one["sources"] for one in events if "sources" in one)
    assert_numbered(text, [one["document_id"] for one in sources])


async def test_a_bad_header_and_a_path_that_is_not_there_are_told_in_each_apis_shape(running: Running) -> None:
    for path, keys in (
        ("/v1/query", {"code", "message", "field", "remedy"}),
        ("/v1/chat/completions", {"message", "type", "param", "code"}),
        ("/chat/completions", {"message", "type", "code"}),
        ("/v1/responses", {"message", "type", "param", "code"}),
    ):
        reply = await running.http.post(path, json=QUESTION, headers={"x-request-timeout-ms": "soon"})
        assert (reply.status_code, set(reply.json()["error"])) == (400, keys), path
    reply = await running.http.post("/api/chat", json=QUESTION, headers={"x-request-timeout-ms": "-1"})
    assert "x-request-timeout-ms" in reply.json()["error"]
    assert (await running.http.get("/v1/responses/resp_1")).json()["error"]["type"] == "invalid_request_error"
    assert (await running.http.post("/async/nothing")).json()["error"]["code"] == 404


async def test_documents_without_a_title_or_an_address_are_still_told_apart(running: Running) -> None:
    def bare(one: Passage) -> Passage:
        return replace(one, title="", uri="")

    running.mesh.retrieval.passages = tuple(map(bare, PASSAGES))
    reply = await running.http.post("/chat/completions", json=QUESTION | {"model": "sonar"})
    assert_numbered(*sonar(reply.json()))


async def test_nothing_found_is_an_answer_without_sources(running: Running) -> None:
    running.mesh.retrieval.passages = ()
    for path, model, read in WAYS:
        reply = await running.http.post(path, json=QUESTION | {"model": model, "stream": False})
        text, listed = read(reply.json())
        assert (reply.status_code, listed) == (200, [])
        assert text
        assert "[" not in text


@pytest.mark.slow
async def test_comments_on_quiet_streams_reach_no_client() -> None:
    gate = asyncio.Event()
    mesh = fakes.Mesh(generation=fakes.FakeGeneration(pause=gate.wait))  # type: ignore[arg-type]  # it answers True
    async with gateway(mesh, http_idle_s=0.02) as running:
        raw = asyncio.create_task(
            running.http.post("/chat/completions", json=QUESTION | {"model": "sonar", "stream": True})
        )
        one = perplexity.AsyncPerplexity(api_key="k", base_url="http://gateway", http_client=over(running))
        other = openai.AsyncOpenAI(api_key="k", base_url="http://gateway/v1", http_client=over(running))
        async with one, other:
            first = await one.chat.completions.create(model="sonar", messages=MESSAGES, stream=True)
            second = await other.responses.create(model="citemesh", input=ASKED, stream=True)
            asyncio.get_running_loop().call_later(0.2, gate.set)
            assert [chunk async for chunk in first][-1].choices[0].finish_reason == "stop"
            assert [event async for event in second][-1].type == "response.completed"
        assert (await raw).text.count(": keep-alive\n\n") >= 3
