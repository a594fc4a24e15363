"""OpenAI's chat over a running gateway: what of a conversation is used, and what is said not to be."""

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from tests.contract.gateway.gateway_service import Running, gateway
from tests.contract.rest.rest_service import ASKED, MARKED, MESSAGES, RELATED, Asked, Pieces, over, recording, sse
from tests.unit.gateway.query import fakes


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    async with gateway() as service:
        yield service


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return recording(monkeypatch)


def client_of(running: Running) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="cm_x", base_url="http://gateway/v1", http_client=over(running), max_retries=0)


async def test_earlier_messages_are_the_history(running: Running, asked: Asked) -> None:
    messages: Any = [
        {"role": "developer", "content": "Only rhymes."},
        {"role": "user", "content": "What is it?"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "content": "42", "tool_call_id": "x"},
        {"role": "assistant", "content": [{"type": "text", "text": "A pump.[1]"}]},
        {"role": "user", "content": ASKED},
    ]
    async with client_of(running) as client:
        answer: Any = await client.chat.completions.create(
            model="citemesh",
            messages=messages,
            seed=7,
            extra_body={"related_questions": 1, "filter": {"languages": ["en"]}, "unheard_of": True},
        )
    assert asked.last.question == ASKED
    assert asked.last.history == (("user", "What is it?"), ("assistant", "A pump."))
    assert asked.last.filter.languages == ("en",)
    assert answer.ignored == ["seed", "messages[0] (developer)", "messages[3] (tool)"]
    assert answer.related_questions == [RELATED[0]]


async def test_a_long_conversation_keeps_its_last_turns_and_says_so(running: Running, asked: Asked) -> None:
    past = [{"role": "user" if at % 2 == 0 else "assistant", "content": f"turn {at}"} for at in range(104)]
    reply = await running.http.post("/v1/chat/completions", json={"messages": [*past, *MESSAGES]})
    assert reply.status_code == 200
    assert [text for _, text in asked.last.history] == [f"turn {at}" for at in range(4, 104)]
    assert reply.json()["ignored"] == [f"messages[{at}] (too long ago)" for at in range(4)]


async def test_what_is_not_used_is_named_at_the_end_of_a_stream(running: Running, asked: Asked) -> None:
    body = {
        "messages": [{"role": "system", "content": "x"}, *MESSAGES],
        "stream": True,
        "tools": [{"type": "function"}],
    }
    reply = await running.http.post("/v1/chat/completions", json=body)
    events = sse(reply.text)
    assert events[-1] == ("", "[DONE]")
    assert events[-2][1]["ignored"] == ["tools", "messages[0] (system)"]


async def test_no_character_is_split_and_every_event_is_json(asked: Asked) -> None:
    mesh = fakes.Mesh(generation=fakes.FakeGeneration(deltas=Pieces.DELTAS))
    async with gateway(mesh) as running:
        reply = await running.http.post("/v1/chat/completions", json={"messages": MESSAGES, "stream": True})
    events = [data for _, data in sse(reply.content.decode())[:-1]]
    text = "".join(data["choices"][0]["delta"].get("content", "") for data in events)
    for n in (1, 2, 3):
        text = text.replace(f"[{n}]", "")
    assert text == Pieces.TEXT


async def test_other_forms_than_text_are_refused(running: Running) -> None:
    async with client_of(running) as client:
        with pytest.raises(openai.BadRequestError, match="response_format"):
            await client.chat.completions.create(
                model="citemesh", messages=MESSAGES, response_format={"type": "json_object"}
            )
        answer = await client.chat.completions.create(
            model="citemesh", messages=MESSAGES, response_format={"type": "text"}
        )
    assert answer.choices[0].message.content == MARKED
