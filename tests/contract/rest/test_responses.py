"""The Agent shape over a running gateway, with Perplexity's client and with OpenAI's."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import openai
import perplexity
import pytest

from citemesh.errors import NotFound
from tests.contract.gateway.gateway_service import Running, gateway
from tests.contract.rest.rest_service import ASKED, MARKED, URLS, Asked, over, recording, sse, until
from tests.unit.gateway.query import fakes


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    async with gateway() as service:
        yield service


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return recording(monkeypatch)


def perplexity_of(running: Running) -> perplexity.AsyncPerplexity:
    return perplexity.AsyncPerplexity(
        api_key="cm_x", base_url="http://gateway", http_client=over(running), max_retries=0
    )


def openai_of(running: Running) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="cm_x", base_url="http://gateway/v1", http_client=over(running), max_retries=0)


def assert_cited(text: str, annotations: list[Any]) -> None:
    """Each annotation stands on its marker and names its source."""
    assert [text[one.start_index : one.end_index] for one in annotations] == ["[1]", "[2]"]
    assert [one.url for one in annotations] == URLS[:2]
    assert [one.title for one in annotations] == ["Pump manual", "History"]
    assert {one.type for one in annotations} == {"url_citation"}


async def test_with_perplexitys_client(running: Running, asked: Asked) -> None:
    async with perplexity_of(running) as client:
        answer: Any = await client.responses.create(model="sonar-pro", input=ASKED, max_output_tokens=99, max_steps=9)
    assert answer.output_text == MARKED
    found, message = answer.output
    assert (found.type, found.queries) == ("search_results", [ASKED])
    assert [(one.id, one.url, one.title) for one in found.results] == [
        (1, URLS[0], "Pump manual"),
        (2, URLS[1], "History"),
        (3, URLS[2], "Whales"),
    ]
    assert_cited(message.content[0].text, message.content[0].annotations)
    assert (answer.status, answer.object, answer.model) == ("completed", "response", "sonar-pro")
    assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens > 0
    assert answer.usage.tool_calls_details["search_web"].invocation == 1
    assert (asked.last.max_tokens, asked.last.max_hops, asked.last.length) == (99, 5, "detailed")


async def test_with_openais_client(running: Running, asked: Asked) -> None:
    async with openai_of(running) as client:
        answer: Any = await client.responses.create(
            model="citemesh",
            instructions="Be terse.",
            input=[
                {"role": "user", "content": "What is it?"},
                {"role": "assistant", "content": "A pump.[1]"},
                {"role": "user", "content": [{"type": "input_text", "text": ASKED}]},
            ],
            tools=[{"type": "web_search"}, {"type": "code_interpreter", "container": {"type": "auto"}}],
        )
    assert answer.output_text == MARKED
    assert_cited(MARKED, answer.output[-1].content[0].annotations)
    assert answer.usage.input_tokens_details.cached_tokens == 0
    assert asked.last.history == (("user", "What is it?"), ("assistant", "A pump."))
    assert answer.ignored == ["instructions", "tools[1] (code_interpreter)"]


ORDER = [
    "response.created",
    "response.in_progress",
    "response.reasoning.started",
    "response.reasoning.search_queries",
    "response.reasoning.search_results",
    "response.reasoning.stopped",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.annotation.added",
    "response.output_text.delta",
    "response.output_text.annotation.added",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]


async def test_the_stream_of_events(running: Running, asked: Asked) -> None:
    for client in (perplexity_of(running), openai_of(running)):
        async with client:
            stream: Any = await client.responses.create(model="citemesh", input=ASKED, stream=True)
            events = [event async for event in stream]
        assert [event.sequence_number for event in events] == list(range(len(events)))
        kinds = [event.type for event in events]
        assert [kind for at, kind in enumerate(kinds) if at == 0 or kind != kinds[at - 1]] == ORDER
        assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == MARKED
        last = events[-1].response
        assert last.output_text == MARKED
        assert_cited(MARKED, last.output[-1].content[0].annotations)
        assert events[kinds.index("response.reasoning.search_queries")].queries == [ASKED]
        results = events[kinds.index("response.reasoning.search_results")].to_dict()["results"]
        assert [one["id"] for one in results] == [1, 2, 3]


@pytest.mark.filterwarnings("ignore:Pydantic serializer")  # its types don't know Perplexity's item of search results
async def test_openais_gathering_stream(running: Running, asked: Asked) -> None:
    async with openai_of(running) as client, client.responses.stream(model="citemesh", input=ASKED) as stream:
        text = "".join([event.delta async for event in stream if event.type == "response.output_text.delta"])
        final: Any = await stream.get_final_response()
    assert text == final.output_text == MARKED


async def test_events_carry_their_names_and_numbers(running: Running, asked: Asked) -> None:
    reply = await running.http.post("/v1/agent", json={"input": ASKED, "stream": True})
    events = sse(reply.text)
    assert events[-1] == ("", "[DONE]")
    assert all(name == data["type"] for name, data in events[:-1])


async def test_filters_of_the_search_tool(running: Running, asked: Asked) -> None:
    tool: Any = {
        "type": "web_search",
        "filters": {"search_domain_filter": ["-wiki.org"], "search_after_date_filter": "01/31/2024"},
        "search_context_size": "low",
    }
    async with perplexity_of(running) as client:
        await client.responses.create(
            model="perplexity/sonar",
            input=ASKED,
            tools=[tool],
            language_preference="de",
            extra_body={"collection": "p"},
        )
    question = asked.last
    assert question.filter.domains == ("-wiki.org",)
    assert question.filter.published_after == datetime(2024, 1, 31, tzinfo=UTC)
    assert (question.max_hops, question.answer_language, question.collection) == (1, "de", "p")


async def test_the_first_known_model_counts(running: Running, asked: Asked) -> None:
    async with perplexity_of(running) as client:
        answer = await client.responses.create(models=["openai/gpt-9", "citemesh-extractive"], input=ASKED)
    assert (answer.model, asked.last.mode) == ("citemesh-extractive", "extractive")


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "input"),
    ({"input": " "}, "input"),
    ({"input": []}, "input"),
    ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input[0].content[0].type"),
    ({"input": "q", "background": True}, "background"),
    ({"input": "q", "previous_response_id": "resp_1"}, "previous_response_id"),
    ({"input": "q", "text": {"format": {"type": "json_schema"}}}, "text.format.type"),
    ({"input": "q", "response_format": {"type": "json_schema"}}, "response_format.type"),
    (
        {"input": "q", "tools": [{"type": "web_search", "filters": {"search_recency_filter": "era"}}]},
        "search_recency_filter",
    ),
    ({"input": "q", "max_output_tokens": 10**9}, "max_output_tokens"),
    ({"input": "q", "model": "gpt-9"}, "model"),
]


async def test_errors(running: Running) -> None:
    for body, field in BAD:
        reply = await running.http.post("/v1/responses", json=body)
        assert (reply.status_code, reply.json()["error"]["param"]) == (400, field), reply.text
    running.mesh.retrieval.error = NotFound("collection", "nope")
    async with perplexity_of(running) as client:
        with pytest.raises(perplexity.NotFoundError):
            await client.responses.create(model="sonar", input=ASKED, stream=True)
    async with openai_of(running) as other:
        with pytest.raises(openai.NotFoundError):
            await other.responses.create(model="citemesh", input=ASKED)


async def test_an_error_on_the_way_fails_the_response() -> None:
    async def breaks() -> None:
        raise RuntimeError("secret")

    async with gateway(fakes.Mesh(generation=fakes.FakeGeneration(pause=breaks))) as running:
        async with perplexity_of(running) as client:
            stream: Any = await client.responses.create(model="citemesh", input=ASKED, stream=True)
            events = [event async for event in stream]
        assert (events[-1].type, events[-1].sequence_number) == ("response.failed", len(events) - 1)
        assert "incident" in events[-1].error.message
        async with openai_of(running) as other:
            stream = await other.responses.create(model="citemesh", input=ASKED, stream=True)
            with pytest.raises(openai.APIError, match="incident") as caught:
                async for _ in stream:
                    pass
    assert "secret" not in str(caught.value) + events[-1].model_dump_json()


async def test_hanging_up_ends_the_work() -> None:
    mesh = fakes.Mesh(generation=fakes.FakeGeneration(hang=True))
    async with gateway(mesh) as running:
        async with openai_of(running) as client:
            stream = await client.responses.create(model="citemesh", input=ASKED, stream=True)
            async for event in stream:
                if event.type == "response.output_text.delta":
                    break
            await stream.close()
        await until(lambda: not mesh.generation.running)
