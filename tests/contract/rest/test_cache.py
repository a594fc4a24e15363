"""Kept answers over the HTTP ways in: given again, and turned off by the header that HTTP has for that."""

from typing import Any

import ollama
import openai
import perplexity
import pytest

from tests.contract.gateway.gateway_service import Running, gateway, transport_to
from tests.contract.rest.rest_service import ASKED, MESSAGES, over

ANEW = {"cache-control": "no-cache"}


async def native(running: Running, headers: dict[str, str]) -> str:
    reply = await running.http.post("/v1/query", json={"query": ASKED}, headers=headers)
    return str(reply.json()["answer"])


async def with_openai(running: Running, headers: dict[str, str]) -> str:
    async with openai.AsyncOpenAI(api_key="k", base_url="http://gateway/v1", http_client=over(running)) as client:
        answer = await client.chat.completions.create(model="citemesh", messages=MESSAGES, extra_headers=headers)
    return answer.choices[0].message.content or ""


async def with_perplexity(running: Running, headers: dict[str, str]) -> str:
    async with perplexity.AsyncPerplexity(
        api_key="k", base_url="http://gateway", http_client=over(running), max_retries=0
    ) as client:
        answer: Any = await client.chat.completions.create(model="sonar", messages=MESSAGES, extra_headers=headers)
    return str(answer.choices[0].message.content)


async def with_ollama(running: Running, headers: dict[str, str]) -> str:
    client = ollama.AsyncClient("http://gateway", headers=headers, transport=transport_to(running.settings))
    answer = await client.chat("citemesh", MESSAGES)
    return answer.message.content or ""


@pytest.mark.parametrize("way", [native, with_openai, with_perplexity, with_ollama])
async def test_a_kept_answer_is_given_again_unless_the_header_says_no(way: Any) -> None:
    async with gateway() as running:
        written = running.mesh.generation.prompts
        first = await way(running, {})
        assert (await way(running, {}), len(written)) == (first, 1)
        for headers in (ANEW, {"Cache-Control": "max-age=0, No-Store"}):
            before = len(written)
            assert (await way(running, headers), len(written)) == (first, before + 1)
        before = len(written)
        await way(running, {"cache-control": "max-age=60"})
        assert len(written) == before
