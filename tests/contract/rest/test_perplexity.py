"""Perplexity's API over a running gateway, with Perplexity's own client."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import perplexity
import pytest

from citemesh.errors import NotFound, Overloaded, Unavailable
from tests.contract.gateway.gateway_service import Running, gateway
from tests.contract.rest.rest_service import (
    ASKED,
    MARKED,
    MESSAGES,
    RELATED,
    URLS,
    Asked,
    Pieces,
    over,
    recording,
    sse,
    until,
)
from tests.unit.gateway.query import fakes


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    async with gateway() as service:
        yield service


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return recording(monkeypatch)


def client_of(running: Running) -> perplexity.AsyncPerplexity:
    return perplexity.AsyncPerplexity(
        api_key="cm_x", base_url="http://gateway", http_client=over(running), max_retries=0
    )


async def test_completion(running: Running, asked: Asked) -> None:
    async with client_of(running) as client:
        answer: Any = await client.chat.completions.create(
            model="sonar", messages=MESSAGES, return_related_questions=True
        )
    assert answer.choices[0].message.content == MARKED
    assert (answer.choices[0].finish_reason, answer.object, answer.model) == ("stop", "chat.completion", "sonar")
    assert answer.citations == URLS
    assert [(one.title, one.url, one.source) for one in answer.search_results] == [
        ("Pump manual", URLS[0], "attachment"),
        ("History", URLS[1], "attachment"),
        ("Whales", URLS[2], "attachment"),
    ]
    assert answer.search_results[0].snippet == "The pump runs at 40 bar. It needs oil."
    assert answer.related_questions == list(RELATED)
    assert asked.last.related_questions == 5
    used = answer.usage
    assert used.total_tokens == used.prompt_tokens + used.completion_tokens > 0
    assert (used.num_search_queries, used.search_context_size, used.cost.total_cost) == (1, "medium", 0)


async def test_related_questions_are_there_only_where_asked_for(running: Running, asked: Asked) -> None:
    reply = await running.http.post("/v1/sonar", json={"model": "sonar", "messages": MESSAGES})
    assert "related_questions" not in reply.json()
    assert asked.last.related_questions == 0


async def test_a_full_stream_has_the_new_text_and_all_of_it(running: Running, asked: Asked) -> None:
    async with client_of(running) as client:
        stream = await client.chat.completions.create(model="sonar-pro", messages=MESSAGES, stream=True)
        chunks: list[Any] = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].delta.content for chunk in chunks) == MARKED
    so_far = ""
    for chunk in chunks:
        so_far += chunk.choices[0].delta.content
        assert chunk.choices[0].message.content == so_far
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1
    assert chunks[0].citations == chunks[-1].citations == URLS
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert chunks[-1].usage.total_tokens > 0
    assert (asked.last.length, asked.last.max_hops) == ("detailed", 0)


async def test_a_concise_stream_tells_the_search_then_the_text(running: Running, asked: Asked) -> None:
    async with client_of(running) as client:
        stream = await client.chat.completions.create(
            model="sonar-deep-research", messages=MESSAGES, stream=True, stream_mode="concise"
        )
        chunks: list[Any] = [chunk async for chunk in stream]
    kinds = [chunk.object for chunk in chunks]
    stages = [kind for at, kind in enumerate(kinds) if at == 0 or kind != kinds[at - 1]]
    assert stages == ["chat.reasoning", "chat.reasoning.done", "chat.completion.chunk", "chat.completion.done"]
    step = chunks[0].choices[0].delta.reasoning_steps[0]
    assert (step.type, step.web_search.search_keywords) == ("web_search", [ASKED])
    texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.object == "chat.completion.chunk"]
    assert "".join(texts) == MARKED
    for chunk in chunks:
        ends = chunk.object.endswith(".done")
        assert (chunk.citations is not None) == ends
        assert (chunk.usage is not None) == (chunk.object == "chat.completion.done")
    assert chunks[-1].choices[0].message.content == MARKED
    assert asked.last.max_hops == 5


async def test_every_event_is_json_by_itself_and_no_character_is_split(asked: Asked) -> None:
    mesh = fakes.Mesh(generation=fakes.FakeGeneration(deltas=Pieces.DELTAS))
    async with gateway(mesh) as running:
        body = {"model": "citemesh", "messages": MESSAGES, "stream": True}
        reply = await running.http.post("/chat/completions", json=body)
    events = sse(reply.content.decode())
    assert events[-1] == ("", "[DONE]")
    text = "".join(data["choices"][0]["delta"]["content"] for _, data in events[:-1])
    for n in (1, 2, 3):
        text = text.replace(f"[{n}]", "")
    assert text == Pieces.TEXT


async def test_filters_become_the_questions(running: Running, asked: Asked) -> None:
    async with client_of(running) as client:
        await client.chat.completions.create(
            model="sonar",
            messages=MESSAGES,
            search_domain_filter=["acme.com", "-wiki.org"],
            search_language_filter=["en", "zh-CN"],
            search_after_date_filter="01/31/2024",
            search_before_date_filter="12/31/2024",
            language_preference="zh",
            max_tokens=50,
            temperature=0.5,
            web_search_options={"search_context_size": "high"},
            extra_body={"collection": "papers", "source_preference": ["pdf"], "never_heard_of": {"x": 1}},
        )
    question = asked.last
    assert question.filter.domains == ("acme.com", "-wiki.org")
    assert question.filter.languages == ("en", "zh")
    assert question.filter.published_after == datetime(2024, 1, 31, tzinfo=UTC)
    assert question.filter.published_before == datetime(2024, 12, 31, tzinfo=UTC)
    assert (question.answer_language, question.max_tokens, question.temperature) == ("zh", 50, 0.5)
    assert (question.collection, question.source_types, question.max_hops) == ("papers", ("pdf",), 3)


async def test_recency_counts_from_now_and_the_later_bound_holds(running: Running, asked: Asked) -> None:
    body = {"model": "sonar", "messages": MESSAGES, "search_recency_filter": "week"}
    await running.http.post("/chat/completions", json=body | {"search_after_date_filter": "01/01/1999"})
    after = asked.last.filter.published_after
    assert after is not None
    assert timedelta(0) <= datetime.now(UTC) - timedelta(weeks=1) - after < timedelta(minutes=1)


async def test_earlier_messages_are_the_history_and_what_is_not_used_is_named(running: Running, asked: Asked) -> None:
    messages: Any = [
        {"role": "system", "content": "Be terse."},
        {"role": "user", "content": "What is it?"},
        {"role": "assistant", "content": "A pump.[1][2] It is old [3]."},
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
    ]
    async with client_of(running) as client:
        answer: Any = await client.chat.completions.create(
            model="sonar", messages=messages, top_p=0.9, return_images=True, disable_search=False
        )
    assert asked.last.history == (("user", "What is it?"), ("assistant", "A pump. It is old."))
    assert answer.ignored == ["top_p", "return_images", "messages[0] (system)"]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"messages": []}, "messages"),
    ({"messages": [{"role": "user", "content": ""}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0].type"),
    ({"search_recency_filter": "decade"}, "search_recency_filter"),
    ({"search_after_date_filter": "2024-01-31"}, "search_after_date_filter"),
    ({"search_before_date_filter": "02/31/2024"}, "search_before_date_filter"),
    ({"search_domain_filter": "acme.com"}, "search_domain_filter"),
    ({"search_domain_filter": [7]}, "search_domain_filter[0]"),
    ({"last_updated_after_filter": "01/01/2024"}, "last_updated_after_filter"),
    ({"search_mode": "academic"}, "search_mode"),
    ({"disable_search": True}, "disable_search"),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}}, "response_format.type"),
    ({"stream_mode": "loud"}, "stream_mode"),
    ({"web_search_options": {"search_context_size": "huge"}}, "web_search_options.search_context_size"),
    ({"max_tokens": "many"}, "max_tokens"),
    ({"max_tokens": 10**9}, "max_tokens"),
]


@pytest.mark.parametrize("path", ["/chat/completions", "/v1/sonar"])
async def test_errors_have_perplexitys_shape(running: Running, path: str) -> None:
    for more, field in BAD:
        reply = await running.http.post(path, json={"model": "sonar", "messages": MESSAGES} | more)
        assert reply.status_code == 400, reply.text
        error = reply.json()["error"]
        assert (error["type"], error["code"]) == ("bad_request", 400)
        assert error["message"].startswith(field), error
    reply = await running.http.get(path)
    assert (reply.status_code, reply.json()["error"]["code"]) == (405, 405)


async def test_the_client_raises_its_own_errors(running: Running) -> None:
    async with client_of(running) as client:
        with pytest.raises(perplexity.BadRequestError) as caught:
            await client.chat.completions.create(model="gpt-5", messages=MESSAGES)
        body: Any = caught.value.body
        assert body["error"]["type"] == "invalid_model"
        for error, raised in (
            (NotFound("collection", "nope"), perplexity.NotFoundError),
            (Overloaded("a queue", 0.5), perplexity.RateLimitError),
            (Unavailable("retrieval"), perplexity.InternalServerError),
        ):
            running.mesh.retrieval.error = error
            for stream in (True, False):
                with pytest.raises(raised):
                    await client.chat.completions.create(model="sonar", messages=MESSAGES, stream=stream)


@pytest.mark.parametrize("mode", ["full", "concise"])
async def test_an_error_on_the_way_raises_in_the_client(mode: Any) -> None:
    async def breaks() -> None:
        raise RuntimeError("secret")

    mesh = fakes.Mesh(generation=fakes.FakeGeneration(pause=breaks))
    async with gateway(mesh) as running, client_of(running) as client:
        stream = await client.chat.completions.create(model="sonar", messages=MESSAGES, stream=True, stream_mode=mode)
        with pytest.raises(perplexity.APIStatusError, match="incident") as caught:
            async for _ in stream:
                pass
    assert "secret" not in str(caught.value)


async def test_hanging_up_ends_the_work() -> None:
    mesh = fakes.Mesh(generation=fakes.FakeGeneration(hang=True))
    async with gateway(mesh) as running:
        async with client_of(running) as client:
            stream = await client.chat.completions.create(model="sonar", messages=MESSAGES, stream=True)
            async for chunk in stream:
                if chunk.choices[0].delta.content:
                    break
            await stream.response.aclose()
        await until(lambda: not mesh.generation.running)


async def test_search_answers_one_result_a_document(running: Running) -> None:
    more = fakes.passage("The oil is changed each year.", "d1", 500)
    running.mesh.retrieval.passages = (*fakes.PASSAGES, more)
    async with client_of(running) as client:
        found = await client.search.create(query=ASKED, max_results=2, display_server_time=True)
    assert [(one.title, one.url) for one in found.results] == [("Pump manual", URLS[0]), ("History", URLS[1])]
    assert found.results[0].snippet == "The pump runs at 40 bar. It needs oil.\n…\nThe oil is changed each year."
    assert found.server_time is not None
    reply = await running.http.post("/search", json={"query": ASKED, "search_context_size": "low"})
    assert reply.json()["results"][0]["snippet"] == "The pump runs at 40 bar. It needs oil."


async def test_several_queries_are_merged(running: Running) -> None:
    async with client_of(running) as client:
        found = await client.search.create(query=[ASKED, "whales in the sea"])
    assert sorted(one.title for one in found.results) == ["History", "Pump manual", "Whales"]
    assert len(running.mesh.retrieval.asked) == 2


async def test_a_document_with_an_address_of_its_own_is_cited_by_it(running: Running, asked: Asked) -> None:
    first, *others = fakes.PASSAGES
    stated = datetime(2024, 1, 31, 23, tzinfo=UTC)
    own = replace(first, uri="https://acme.com/pump?x=1#top", published_at=stated)
    running.mesh.retrieval.passages = (own, *others)
    async with client_of(running) as client:
        answer: Any = await client.chat.completions.create(model="sonar", messages=MESSAGES)
    assert answer.citations == ["https://acme.com/pump?x=1#top", *URLS[1:]]
    assert [one.source for one in answer.search_results] == ["web", "attachment", "attachment"]
    assert [one.date for one in answer.search_results] == ["2024-01-31", None, None]
    found = await running.http.post("/search", json={"query": ASKED})
    assert [one["date"] for one in found.json()["results"]] == ["2024-01-31", None, None]


BAD_SEARCHES: list[tuple[dict[str, Any], str]] = [
    ({}, "query"),
    ({"query": ""}, "query"),
    ({"query": []}, "query"),
    ({"query": ["a"] * 6}, "query"),
    ({"query": ["a", " "]}, "query[1]"),
    ({"query": 7}, "query"),
    ({"query": "a", "max_results": 0}, "max_results"),
    ({"query": "a", "max_results": 21}, "max_results"),
    ({"query": "a", "search_mode": "sec"}, "search_mode"),
]


async def test_searches_that_cant_be_made(running: Running) -> None:
    for body, field in BAD_SEARCHES:
        reply = await running.http.post("/search", json=body)
        assert (reply.status_code, reply.json()["error"]["type"]) == (400, "bad_request"), body
        assert reply.json()["error"]["message"].startswith(f"{field}:"), reply.text
