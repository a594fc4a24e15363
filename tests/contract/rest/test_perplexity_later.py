"""Perplexity's questions that are answered later, with Perplexity's own client."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import perplexity
import pytest

from citemesh.errors import NotFound
from gateway.jobs.job import JobBounds
from tests.contract.gateway.gateway_service import Running, gateway
from tests.contract.rest.rest_service import MARKED, MESSAGES, URLS, over
from tests.unit.gateway.query import fakes

PATH = "/async/chat/completions"
REQUEST: Any = {"model": "sonar", "messages": MESSAGES}


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    async with gateway() as service:
        yield service


def client_of(running: Running) -> perplexity.AsyncPerplexity:
    return perplexity.AsyncPerplexity(
        api_key="cm_x", base_url="http://gateway", http_client=over(running), max_retries=0
    )


async def ended(client: perplexity.AsyncPerplexity, job_id: str) -> Any:
    async with asyncio.timeout(10):
        while True:
            found = await client.async_.chat.completions.get(job_id)
            if found.status in ("COMPLETED", "FAILED"):
                return found
            await asyncio.sleep(0.02)


async def test_a_question_is_made_listed_and_read(running: Running) -> None:
    async with client_of(running) as client:
        made = await client.async_.chat.completions.create(request=REQUEST)
        assert made.status in ("CREATED", "IN_PROGRESS")
        assert (made.model, made.response) == ("sonar", None)
        done = await ended(client, made.id)
        assert done.response.choices[0].message.content == MARKED
        assert done.response.citations == URLS, "links that its caller can follow"
        assert done.created_at <= done.started_at <= done.completed_at
        assert (done.error_message, done.failed_at) == (None, None)
        await client.async_.chat.completions.create(request=REQUEST)
        listed = await client.async_.chat.completions.list()
        assert [one.id for one in listed.requests][-1] == made.id
        assert listed.next_token is None
    page = (await running.http.get(PATH, params={"limit": 1})).json()
    rest = (await running.http.get(PATH, params={"limit": 1, "next_token": page["next_token"]})).json()
    assert [one["id"] for one in rest["requests"]] == [made.id]
    assert "response" not in rest["requests"][0]


async def test_what_would_fail_later_is_refused_now(running: Running) -> None:
    for bad, field in (
        ({}, "request"),
        ({"request": {"model": "gpt-9", "messages": MESSAGES}}, "request.model"),
        ({"request": {"model": "sonar", "messages": []}}, "request.messages"),
        ({"request": REQUEST | {"stream": True}}, "request.stream"),
        ({"request": REQUEST | {"last_updated_after_filter": "01/01/2026"}}, "request.last_updated_after_filter"),
        ({"request": REQUEST | {"max_tokens": -1}}, "request.max_tokens"),
        ({"request": REQUEST, "idempotency_key": "x" * 300}, "idempotency_key"),
    ):
        reply = await running.http.post(PATH, json=bad)
        assert reply.status_code == 400, (bad, reply.text)
        assert field in reply.json()["error"]["message"], (field, reply.text)
    for query in ("limit=0", "limit=x", "next_token=x", f"next_token={'9' * 40}"):
        assert (await running.http.get(f"{PATH}?{query}")).status_code == 400, query
    assert (await running.http.get(PATH)).json()["requests"] == []


async def test_the_same_key_is_one_question_and_others_are_not_seen(running: Running) -> None:
    ann, eve = {"x-citemesh-subject": "ann"}, {"x-citemesh-subject": "eve"}
    body = {"request": REQUEST, "idempotency_key": "once"}
    first, second = [(await running.http.post(PATH, json=body, headers=ann)).json()["id"] for _ in range(2)]
    assert first == second
    assert (await running.http.post(PATH, json=body, headers=eve)).json()["id"] != first
    reply = await running.http.get(f"{PATH}/{first}", headers=eve)
    assert (reply.status_code, reply.json()["error"]["type"]) == (404, "not_found")


async def test_a_failure_is_told() -> None:
    mesh = fakes.Mesh()
    mesh.retrieval.error = NotFound("collection", "default", "make it")
    async with gateway(mesh) as running, client_of(running) as client:
        made = await client.async_.chat.completions.create(request=REQUEST)
        failed = await ended(client, made.id)
    assert (failed.status, failed.response) == ("FAILED", None)
    assert "no collection named 'default'" in failed.error_message


async def test_too_many_are_refused_and_a_restart_answers_those_that_wait(tmp_path: Path) -> None:
    hung = fakes.Mesh()
    hung.generation = replace(hung.generation, hang=True)
    most = JobBounds().unfinished
    async with gateway(hung, threads_dir=tmp_path) as running:
        replies = [await running.http.post(PATH, json={"request": REQUEST}) for _ in range(most + 1)]
        assert [reply.status_code for reply in replies] == [200] * most + [429]
        assert int(replies[-1].headers["retry-after"]) > 0
    async with gateway(threads_dir=tmp_path) as running, client_of(running) as client:
        for reply in replies[:most]:
            done = await ended(client, reply.json()["id"])
            assert (done.status, done.response.choices[0].message.content) == ("COMPLETED", MARKED)
