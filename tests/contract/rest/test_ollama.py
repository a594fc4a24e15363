"""Ollama's API over a running gateway, with Ollama's own client."""

import json
import re
import time
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import ollama
import pytest

from citemesh.errors import NotFound, Overloaded
from tests.contract.gateway.gateway_service import Running, gateway, transport_to
from tests.contract.rest.rest_service import ASKED, MARKED, MESSAGES, Asked, Pieces, recording, until
from tests.unit.gateway.query import fakes


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    async with gateway() as service:
        yield service


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return recording(monkeypatch)


def client_of(running: Running) -> ollama.AsyncClient:
    transport = transport_to(running.settings)
    return ollama.AsyncClient("http://gateway", transport=transport)


async def test_chat(running: Running, asked: Asked) -> None:
    began = time.perf_counter_ns()
    answer: Any = await client_of(running).chat("citemesh", MESSAGES, options={"num_predict": 50, "temperature": 0.2})
    passed = time.perf_counter_ns() - began
    assert (answer.message.role, answer.message.content) == ("assistant", MARKED)
    assert (answer.done, answer.done_reason, answer.model) == (True, "stop", "citemesh")
    assert datetime.fromisoformat(answer.created_at).tzinfo is not None
    assert answer.prompt_eval_count > 0
    assert answer.eval_count == 2
    assert 0 < answer.prompt_eval_duration + answer.eval_duration <= answer.total_duration <= passed
    assert (asked.last.max_tokens, asked.last.temperature) == (50, 0.2)


async def test_chat_streams(running: Running, asked: Asked) -> None:
    stream = await client_of(running).chat("citemesh:latest", MESSAGES, stream=True)
    parts: list[Any] = [part async for part in stream]
    assert "".join(part.message.content for part in parts) == MARKED
    assert len(parts) > 2
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    assert all(part.total_duration is None for part in parts[:-1])
    assert parts[-1].total_duration > 0


async def test_lines_are_json_and_no_character_is_split(asked: Asked) -> None:
    mesh = fakes.Mesh(generation=fakes.FakeGeneration(deltas=Pieces.DELTAS))
    async with gateway(mesh) as running:
        reply = await running.http.post("/api/chat", json={"model": "citemesh", "messages": MESSAGES})
    assert reply.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in reply.content.decode().splitlines()]
    text = "".join(line["message"]["content"] for line in lines)
    assert re.sub(r"\[\d\]", "", text) == Pieces.TEXT
    assert {one["number"] for one in lines[-1]["sources"]} == set(map(int, re.findall(r"\[(\d)\]", text)))


async def test_an_answer_that_no_model_wrote_has_no_times_of_a_model(running: Running, asked: Asked) -> None:
    answer: Any = await client_of(running).chat("citemesh-extractive", MESSAGES)
    assert asked.last.mode == "extractive"
    assert answer.total_duration > 0
    assert answer.prompt_eval_duration is None
    assert answer.eval_duration is None
    assert answer.load_duration is None


async def test_generate(running: Running, asked: Asked) -> None:
    client = client_of(running)
    answer: Any = await client.generate("citemesh", ASKED, system="Be terse.")
    assert (answer.response, answer.done_reason) == (MARKED, "stop")
    assert asked.last.question == ASKED
    parts: list[Any] = [part async for part in await client.generate("citemesh", ASKED, stream=True)]
    assert "".join(part.response for part in parts) == MARKED
    reply = await running.http.post(
        "/api/generate", json={"model": "citemesh", "prompt": ASKED, "stream": False, "system": "x", "unheard_of": 1}
    )
    assert reply.json()["ignored"] == ["system"]


async def test_history_and_focus(running: Running, asked: Asked) -> None:
    messages = [
        {"role": "system", "content": "x"},
        {"role": "user", "content": "What is it?"},
        {"role": "assistant", "content": "A pump.[1]"},
        *MESSAGES,
    ]
    body = {"model": "citemesh", "messages": messages, "stream": False, "collection": "papers", "keep_alive": "5m"}
    reply = await running.http.post("/api/chat", json=body)
    assert asked.last.history == (("user", "What is it?"), ("assistant", "A pump."))
    assert asked.last.collection == "papers"
    assert reply.json()["ignored"] == ["keep_alive", "messages[0] (system)"]


async def test_models(running: Running) -> None:
    client = client_of(running)
    listed = await client.list()
    assert [one.model for one in listed.models] == ["citemesh:latest", "citemesh-extractive:latest"]
    assert all(one.modified_at is not None and one.digest for one in listed.models)
    assert [one.model for one in (await client.ps()).models] == ["citemesh:latest", "citemesh-extractive:latest"]
    shown = await client.show("citemesh:latest")
    assert shown.capabilities == ["completion"]
    assert shown.details is not None
    assert shown.details.family == "citemesh"
    assert "version" in (await running.http.get("/api/version")).json()


BAD: list[tuple[str, dict[str, Any], int, str]] = [
    ("/api/chat", {"messages": MESSAGES}, 400, "model: is missing"),
    ("/api/chat", {"model": "citemesh"}, 400, "messages"),
    ("/api/chat", {"model": "llama3", "messages": MESSAGES}, 404, "llama3"),
    ("/api/chat", {"model": "citemesh:7b", "messages": MESSAGES}, 404, "citemesh:7b"),
    ("/api/chat", {"model": "citemesh", "messages": MESSAGES, "format": "json"}, 400, "format"),
    (
        "/api/chat",
        {"model": "citemesh", "messages": MESSAGES, "options": {"temperature": 9}},
        400,
        "options.temperature",
    ),
    (
        "/api/chat",
        {"model": "citemesh", "messages": MESSAGES, "options": {"num_predict": 9**9}},
        400,
        "options.num_predict",
    ),
    ("/api/generate", {"model": "citemesh", "prompt": ""}, 400, "prompt"),
    ("/api/generate", {"model": "citemesh", "prompt": "q", "suffix": "x"}, 400, "suffix"),
    ("/api/generate", {"model": "citemesh", "prompt": "q", "images": ["aGk="]}, 400, "images"),
    ("/api/show", {"model": "llama3"}, 404, "llama3"),
    ("/api/pull", {"model": "citemesh"}, 404, "/api/pull"),
]


async def test_errors_are_one_text(running: Running) -> None:
    for path, body, status, text in BAD:
        reply = await running.http.post(path, json=body)
        assert reply.status_code == status, reply.text
        assert list(reply.json()) == ["error"]
        assert text in reply.json()["error"]


async def test_the_client_raises_its_own_errors(running: Running) -> None:
    client = client_of(running)
    for error, status in ((NotFound("collection", "nope"), 404), (Overloaded("a queue", 0.5), 429)):
        running.mesh.retrieval.error = error
        with pytest.raises(ollama.ResponseError) as caught:
            await client.chat("citemesh", MESSAGES)
        assert caught.value.status_code == status
        with pytest.raises(ollama.ResponseError):
            async for _ in await client.chat("citemesh", MESSAGES, stream=True):
                pass


async def test_an_error_on_the_way_is_a_line() -> None:
    async def breaks() -> None:
        raise RuntimeError("secret")

    async with gateway(fakes.Mesh(generation=fakes.FakeGeneration(pause=breaks))) as running:
        with pytest.raises(ollama.ResponseError, match="incident"):
            async for _ in await client_of(running).chat("citemesh", MESSAGES, stream=True):
                pass


async def test_hanging_up_ends_the_work() -> None:
    mesh = fakes.Mesh(generation=fakes.FakeGeneration(hang=True))
    async with gateway(mesh) as running:
        stream = await client_of(running).chat("citemesh", MESSAGES, stream=True)
        async for part in stream:
            if part.message.content:
                break
        await stream.aclose()  # type: ignore[attr-defined]  # it is an async generator
        await until(lambda: not mesh.generation.running)
