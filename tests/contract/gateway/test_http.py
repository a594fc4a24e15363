"""The gateway over HTTP: its own API and OpenAI's, over a real socket and with OpenAI's own client."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest

from citemesh.errors import NotFound, Overloaded, PreconditionFailed, Unavailable
from tests.contract.gateway.gateway_service import Running, gateway, transport_to
from tests.unit.gateway.query import fakes

ASKED = "At what pressure does the pump run?"
MARKED = "The pump runs at 40 bar.[1] It was built in 1987.[2]"
PLAIN = "The pump runs at 40 bar. It was built in 1987."
MESSAGES: Any = [{"role": "user", "content": ASKED}]


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    async with gateway() as service:
        yield service


def client_of(running: Running) -> openai.AsyncOpenAI:
    transport = transport_to(running.settings)
    http = httpx.AsyncClient(transport=transport)
    return openai.AsyncOpenAI(api_key="cm_x", base_url="http://gateway/v1", http_client=http, max_retries=0)  # type: ignore[arg-type]  # it names httpx's successor


async def until_idle(running: Running) -> None:
    async with asyncio.timeout(5):
        while running.mesh.generation.running:
            await asyncio.sleep(0.01)


async def until_writing(running: Running) -> None:
    async with asyncio.timeout(5):
        while not running.mesh.generation.running:
            await asyncio.sleep(0.01)


def events_of(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if lines:
            found.append((lines.get("event", ""), json.loads(lines["data"])))
    return found


async def test_query_answers_with_sources(running: Running) -> None:
    reply = await running.http.post("/v1/query", json={"query": ASKED, "source_preference": "any", "unknown": [1]})
    assert reply.status_code == 200
    body = reply.json()
    assert body["answer"] == MARKED
    assert [(s["number"], s["title"], s["url"], s["cited"]) for s in body["sources"]] == [
        (1, "Pump manual", "docs/d1.md", True),
        (2, "History", "docs/d2.md", True),
    ]
    for sentence in body["sentences"]:
        span = sentence["sentence"]
        assert body["text"][span["start"] : span["end"]].strip() == sentence["text"]
        for citation in sentence["citations"]:
            source = next(one for one in body["sources"] if one["number"] == citation["number"])
            start = citation["span"]["start"] - source["span"]["start"]
            assert source["quote"][start : start + len(citation["quote"])] == citation["quote"]
    assert body["finish"] == "complete"


async def test_query_streams_events(running: Running) -> None:
    reply = await running.http.post("/v1/query", json={"query": ASKED, "stream": True})
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = events_of(reply.text)
    assert [name for name, _ in events][:3] == ["plan", "search", "sources"]
    assert "".join(data["text"] for name, data in events if name == "delta") == MARKED.replace("[1]", "").replace(
        "[2]", ""
    )
    assert events[-1][0] == "done"


async def test_source_preference(running: Running) -> None:
    preferences: list[tuple[Any, tuple[str, ...]]] = [
        (None, ()),
        ("any", ()),
        ("PDF", ("pdf",)),
        (["markdown", "html"], ("markdown", "html")),
        (["any", "pdf"], ()),
    ]
    for preference, types in preferences:
        reply = await running.http.post("/v1/query", json={"query": ASKED, "source_preference": preference})
        assert reply.status_code == 200
        assert running.mesh.retrieval.asked[-1][2] == types, preference


BAD_BODIES: list[tuple[Any, str]] = [
    ({}, "query"),
    ({"query": ""}, "query"),
    ({"query": 5}, "query"),
    ({"query": "half \ud83d"}, "query"),
    ({"query": "q", "collection": "\ud83d"}, "collection"),
    ({"query": "q", "temperature": float("nan")}, "temperature"),
    ({"query": "x" * 1_000_000}, "query"),
    ({"query": "q", "source_preference": "video"}, "source_preference"),
    ({"query": "q", "source_preference": [1]}, "source_preference"),
    ({"query": "q", "max_tokens": "many"}, "max_tokens"),
    ({"query": "q", "max_tokens": True}, "max_tokens"),
    ({"query": "q", "max_tokens": 10**30}, "max_tokens"),
    ({"query": "q", "stream": "yes"}, "stream"),
    ({"query": "q", "temperature": 9}, "temperature"),
    ({"query": "q", "mode": "poetic"}, "mode"),
    (["query"], "body"),
]


async def test_bad_bodies_name_the_field(running: Running) -> None:
    for body, field in BAD_BODIES:
        reply = await running.http.post("/v1/query", content=json.dumps(body))
        assert reply.status_code == 400, reply.text
        assert reply.json()["error"]["field"] == field, body
        assert reply.json()["error"]["remedy"]


async def test_no_json_is_said(running: Running) -> None:
    for data in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"query": ' + b"1" * 5000 + b"}"):
        reply = await running.http.post("/v1/query", content=data)
        assert (reply.status_code, reply.json()["error"]["field"]) == (400, "body")


async def test_a_body_over_the_limit_is_refused_and_one_of_a_mebibyte_is_not(running: Running) -> None:
    reply = await running.http.post("/v1/query", content=b'{"query": "' + b"x" * 3_000_000)
    assert (reply.status_code, reply.json()["error"]["code"]) == (413, "BODY_TOO_LARGE")
    reply = await running.http.post("/v1/query", json={"query": ASKED, "padding": "x" * 1_100_000})
    assert reply.status_code == 200


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("collection", "nope"), 404),
        (Unavailable("retrieval", 2.5), 503),
        (Overloaded("a queue", 1.2), 429),
        (RuntimeError("secret"), 500),
    ],
)
async def test_errors_have_a_status_also_for_streams(error: Exception, status: int, stream: bool) -> None:
    mesh = fakes.Mesh()
    mesh.retrieval.error = error
    async with gateway(mesh) as running:
        reply = await running.http.post("/v1/query", json={"query": ASKED, "stream": stream})
    assert reply.status_code == status
    assert "secret" not in reply.text
    if status in (429, 503):
        assert int(reply.headers["retry-after"]) >= 1


async def test_paths_and_methods_that_are_not_there(running: Running) -> None:
    assert (await running.http.get("/nope")).json()["error"]["code"] == "NO_SUCH_PATH"
    reply = await running.http.get("/v1/query")
    assert (reply.status_code, reply.headers["allow"]) == (405, "POST")


async def test_health(running: Running) -> None:
    assert (await running.http.get("/healthz")).json() == {"status": "ok"}
    assert (await running.http.get("/readyz")).json()["status"] == "ok"
    running.neighbours.down = {"generation"}
    reply = await running.http.get("/readyz")
    assert (reply.status_code, reply.json()["status"], reply.json()["services"]["generation"]) == (
        200,
        "degraded",
        False,
    )
    running.neighbours.down = {"retrieval"}
    assert (await running.http.get("/readyz")).status_code == 503


async def test_openai_completion(running: Running) -> None:
    async with client_of(running) as client:
        completion = await client.chat.completions.create(model="citemesh", messages=MESSAGES)
    message = completion.choices[0].message
    assert message.content == MARKED
    assert completion.choices[0].finish_reason == "stop"
    assert message.annotations is not None
    for annotation in message.annotations:
        cited = annotation.url_citation
        assert message.content[cited.start_index : cited.end_index] in ("[1]", "[2]")
        assert cited.url.startswith("http://gateway/v1/documents/d")
    assert completion.usage is not None
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens > 0


async def test_openai_stream(running: Running) -> None:
    async with client_of(running) as client:
        stream = await client.chat.completions.create(
            model="citemesh", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == MARKED
    assert len([chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]) > 1
    assert len({(chunk.id, chunk.created) for chunk in chunks}) == 1
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert all(chunk.usage is None for chunk in chunks[:-1])
    assert chunks[-2].choices[0].finish_reason == "stop"


async def test_openai_models_and_extractive(running: Running) -> None:
    async with client_of(running) as client:
        assert [model.id async for model in client.models.list()] == ["citemesh", "citemesh-extractive"]
        assert (await client.models.retrieve("citemesh")).owned_by == "citemesh"
        completion = await client.chat.completions.create(model="citemesh-extractive", messages=MESSAGES)
        assert "40 bar" in (completion.choices[0].message.content or "")
    assert running.mesh.generation.prompts == []


BAD_MESSAGES: list[tuple[Any, str]] = [
    ({"messages": []}, "messages"),
    ({"messages": "hi"}, "messages"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0].type"),
    ({"messages": [{"role": "user", "content": None}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": " "}]}, "messages[0].content"),
    ({"messages": MESSAGES, "n": 2}, "n"),
    ({"messages": MESSAGES, "max_completion_tokens": 0.5}, "max_completion_tokens"),
]


async def test_openai_errors_name_the_parameter(running: Running) -> None:
    for body, param in BAD_MESSAGES:
        reply = await running.http.post("/v1/chat/completions", json=body)
        assert reply.status_code == 400
        assert reply.json()["error"]["param"] == param
        assert reply.json()["error"]["type"] == "invalid_request_error"


async def test_openai_client_raises_its_own_errors(running: Running) -> None:
    async with client_of(running) as client:
        with pytest.raises(openai.NotFoundError):
            await client.chat.completions.create(model="gpt-5", messages=MESSAGES)
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(model="citemesh", messages=[])
        running.mesh.retrieval.error = Overloaded("a queue", 0.5)
        with pytest.raises(openai.RateLimitError):
            await client.chat.completions.create(model="citemesh", messages=MESSAGES, stream=True)


async def test_content_parts_are_joined(running: Running) -> None:
    messages = [
        {"role": "system", "content": "Be nice."},
        {"role": "user", "content": [{"type": "text", "text": "the pump"}, {"type": "text", "text": "pressure"}]},
    ]
    reply = await running.http.post("/v1/chat/completions", json={"messages": messages})
    assert reply.status_code == 200
    assert running.mesh.retrieval.asked[0][0] == "the pump pressure"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ["/v1/query", "/v1/chat/completions"])
async def test_hanging_up_ends_the_work(path: str, stream: bool) -> None:
    mesh = fakes.Mesh(generation=fakes.FakeGeneration(hang=True))
    async with gateway(mesh) as running:
        body = {"query": ASKED, "messages": MESSAGES, "stream": stream}
        call = asyncio.create_task(running.http.post(path, json=body))
        await until_writing(running)
        call.cancel()
        await asyncio.wait({call})
        await until_idle(running)


async def test_an_error_on_the_way_is_told_in_the_stream() -> None:
    async def breaks() -> None:
        raise RuntimeError("secret")

    mesh = fakes.Mesh(generation=fakes.FakeGeneration(pause=breaks))
    async with gateway(mesh) as running:
        reply = await running.http.post("/v1/query", json={"query": ASKED, "stream": True})
        name, data = events_of(reply.text)[-1]
        assert (reply.status_code, name, data["error"]["code"]) == (200, "error", "INTERNAL")
        assert "secret" not in reply.text
        async with client_of(running) as client:
            stream = await client.chat.completions.create(model="citemesh", messages=MESSAGES, stream=True)
            with pytest.raises(openai.APIError, match="incident"):
                async for _ in stream:
                    pass


async def test_a_quiet_stream_is_kept_alive() -> None:
    gate = asyncio.Event()

    async def pause() -> None:
        await gate.wait()

    async with gateway(fakes.Mesh(generation=fakes.FakeGeneration(pause=pause)), http_idle_s=0.05) as running:
        async with running.http.stream("POST", "/v1/query", json={"query": ASKED, "stream": True}) as reply:
            seen = ""
            async for text in reply.aiter_text():
                seen += text
                if ": keep-alive" in seen:
                    gate.set()
        assert events_of(seen)[-1][0] == "done"


async def test_the_callers_deadline_holds() -> None:
    mesh = fakes.Mesh(generation=fakes.FakeGeneration(hang=True))
    async with gateway(mesh, reserve_s=0.1) as running:
        reply = await running.http.post("/v1/query", json={"query": ASKED}, headers={"x-request-timeout-ms": "600"})
        assert (reply.status_code, reply.json()["finish"]) == (200, "interrupted")
        await until_idle(running)
        for nonsense in ("soon", "-1", "nan", "inf"):
            reply = await running.http.post(
                "/v1/query", json={"query": ASKED}, headers={"x-request-timeout-ms": nonsense}
            )
            assert (reply.status_code, reply.json()["error"]["field"]) == (400, "x-request-timeout-ms")


async def test_a_stream_in_progress_is_finished_when_the_gateway_stops() -> None:
    gate = asyncio.Event()

    async def pause() -> None:
        await gate.wait()

    mesh = fakes.Mesh(generation=fakes.FakeGeneration(pause=pause))
    async with gateway(mesh, drain_s=5) as running:
        call = asyncio.create_task(running.http.post("/v1/query", json={"query": ASKED, "stream": True}))
        await until_writing(running)
        stopping = asyncio.create_task(running.server.stop())
        async with asyncio.timeout(5):
            while running.server.ready:
                await asyncio.sleep(0.01)
        gate.set()
        assert events_of((await call).text)[-1][0] == "done"
        await stopping


async def test_http_can_listen_on_a_port_and_a_taken_one_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PreconditionFailed, match=str(port)):
            async with gateway(http_listen=f"127.0.0.1:{port}"):
                pass
    async with gateway(http_listen=f"127.0.0.1:{port}"), httpx.AsyncClient() as http:
        assert (await http.get(f"http://127.0.0.1:{port}/healthz")).status_code == 200
