"""One question through all five services, each its own gRPC server with its fake engine, on unix sockets."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from citemesh.client import Mesh
from citemesh.client.types import (
    AskEvent,
    CitationEvent,
    DeltaEvent,
    DoneEvent,
    PlanEvent,
    Question,
    SourcesEvent,
    Upload,
)
from citemesh.errors import InvalidInput, NotFound, Unavailable
from citemesh.kit.server import Server, ServiceSpec
from citemesh.kit.settings import ServiceSettings
from gateway.main import build as gateway_service
from gateway.settings import GatewaySettings
from services.generation.main import build as generation_service
from services.generation.settings import GenerationSettings
from services.reranker.main import build as reranker_service
from services.reranker.service import RerankerService
from services.reranker.settings import RerankerSettings
from services.retrieval.main import build as retrieval_service
from services.retrieval.settings import RetrievalSettings
from services.tokenizer.main import build as tokenizer_service
from services.tokenizer.settings import TokenizerSettings

PUMP = """# Pump manual

## Operation

The main pump runs at a pressure of 40 bar. It needs fresh oil every 300 hours of operation.

## History

The pump was built in 1987 by the Acme works in Leeds.
"""
WHALES = "# Whales\n\nBlue whales live in every ocean. A blue whale eats four tonnes of krill every single day.\n"
CHINESE = "# 水泵手册\n\n主水泵的工作压力是四十巴。它每运行三百小时需要更换一次润滑油。\n"
ASKED = "At what pressure does the main pump run?"


@dataclass
class Stack:
    """Five services that run, and a client to all of them."""

    servers: dict[str, Server]
    client: Mesh
    http: httpx.AsyncClient

    async def ask(self, question: str, **more: Any) -> list[AskEvent]:
        return [event async for event in self.client.query.ask(Question(question, **more))]

    async def ingest(self, name: str, text: str, collection: str = "") -> str:
        upload = Upload(name, text.encode(), collection, uri=f"docs/{name}")
        states = [progress async for progress in self.client.documents.ingest([upload])]
        assert states[-1].state == "committed", states[-1]
        return states[-1].document_id


@asynccontextmanager
async def stack(
    generation: dict[str, Any] | None = None,
    gateway: dict[str, Any] | None = None,
    reranker: dict[str, Any] | None = None,
) -> AsyncIterator[Stack]:
    """Runs the services for the block."""
    folder = Path(tempfile.mkdtemp(prefix="cm"))
    shared: dict[str, Any] = {"state_dir": folder, "drain_s": 0.2}
    tokenizer = TokenizerSettings(engine="fake", **shared)
    retrieval = RetrievalSettings(
        engine="fake", embedding_engine="fake", readers=0, targets={"tokenizer": tokenizer.address}, **shared
    )
    service_names: dict[str, tuple[ServiceSpec, ServiceSettings]] = {
        "tokenizer": (tokenizer_service(tokenizer), tokenizer),
        "retrieval": (retrieval_service(retrieval), retrieval),
    }
    writing = GenerationSettings(engine="fake", **shared, **(generation or {}))
    service_names["generation"] = (generation_service(writing), writing)
    judging = RerankerSettings(engine="fake", **shared, **(reranker or {}))
    service_names["reranker"] = (reranker_service(judging), judging)
    door = GatewaySettings(**shared, **(gateway or {}))
    service_names["gateway"] = (gateway_service(door), door)
    async with AsyncExitStack() as ends:
        ends.callback(shutil.rmtree, folder, ignore_errors=True)
        servers = {name: Server(service_name, settings) for name, (service_name, settings) in service_names.items()}
        for server in servers.values():
            await server.start()
            ends.push_async_callback(server.stop)
        targets = {name: settings.address for name, (_, settings) in service_names.items()}
        client = await ends.enter_async_context(Mesh(targets))
        http = httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=door.http_socket), base_url="http://gateway")
        yield Stack(servers, client, await ends.enter_async_context(http))


async def check(service_names: Stack, said: list[AskEvent]) -> tuple[str, DoneEvent]:
    """Every sentence is accounted for, and every citation's span, read back, is the very text."""
    answer = "".join(event.text for event in said if isinstance(event, DeltaEvent))
    sources = {s.number: s for event in said if isinstance(event, SourcesEvent) for s in event.sources}
    at = 0
    for event in said:
        if isinstance(event, CitationEvent):
            assert event.sentence.start == at
            at = event.sentence.end
            for citation in event.citations:
                span = citation.location.span
                _, text = await service_names.client.documents.get(citation.document_id, citation.collection, span)
                assert text == citation.quote
                assert sources[citation.number].document_id == citation.document_id
    assert at == len(answer)
    assert isinstance(said[-1], DoneEvent)
    return answer, said[-1]


async def test_a_question_is_answered_with_exact_citations() -> None:
    async with stack() as service_names:
        pump = await service_names.ingest("pump.md", PUMP)
        await service_names.ingest("whales.md", WHALES)
        said = await service_names.ask(ASKED)
        answer, done = await check(service_names, said)
        assert "The main pump runs at a pressure of 40 bar." in answer
        assert len([event for event in said if isinstance(event, DeltaEvent)]) > 1
        cited = [c for event in said if isinstance(event, CitationEvent) for c in event.citations]
        assert any(c.document_id == pump and "40 bar" in c.quote for c in cited)
        assert (done.finish, done.mode, done.model, done.notice) == ("complete", "generated", "fake-copier", "")

        await service_names.client.documents.delete([pump])
        said = await service_names.ask(ASKED)
        await check(service_names, said)
        sources = [s for event in said if isinstance(event, SourcesEvent) for s in event.sources]
        assert pump not in [source.document_id for source in sources]


async def test_an_answer_is_given_again_until_its_collection_changes() -> None:
    def done(said: list[AskEvent]) -> DoneEvent:
        assert isinstance(said[-1], DoneEvent)
        return said[-1]

    async with stack() as service_names:
        await service_names.ingest("pump.md", PUMP)
        first, second = await service_names.ask(ASKED), await service_names.ask(ASKED.lower())
        assert (done(first).cached, done(second).cached) == (False, True)
        assert (await check(service_names, first))[0] == (await check(service_names, second))[0]
        assert [event for event in first if isinstance(event, CitationEvent)] == [
            event for event in second if isinstance(event, CitationEvent)
        ]
        assert not done(await service_names.ask(ASKED, skip_cache=True)).cached
        await service_names.client.collections.create("sea")
        await service_names.ingest("whales.md", WHALES, "sea")
        assert done(await service_names.ask(ASKED)).cached
        both = [await service_names.ask(ASKED, more_collections=("sea",)) for _ in range(2)]
        assert [done(said).cached for said in both] == [False, True]
        await service_names.ingest("pump.zh.md", CHINESE, "sea")
        assert done(await service_names.ask(ASKED)).cached
        assert not done(await service_names.ask(ASKED, more_collections=("sea",))).cached
        await service_names.ingest("whales.md", WHALES)
        assert not done(await service_names.ask(ASKED)).cached


async def test_a_thread_goes_through_all_services() -> None:
    async with stack() as service_names:
        await service_names.ingest("pump.md", PUMP)
        await service_names.ingest("whales.md", WHALES)
        first = (await service_names.ask("When was the Acme pump built?", start_thread=True))[-1]
        assert isinstance(first, DoneEvent)
        said = await service_names.ask("How often does it need oil?", thread_id=first.thread_id)
        _, done = await check(service_names, said)
        assert isinstance(said[0], PlanEvent)
        assert said[0].question == "How often does Acme need oil?"
        assert done.thread_id == first.thread_id


async def test_chinese_has_its_citations() -> None:
    async with stack() as service_names:
        document = await service_names.ingest("pump.zh.md", CHINESE)
        said = await service_names.ask("主水泵的工作压力是多少？")
        answer, _ = await check(service_names, said)
        assert "主水泵的工作压力是四十巴。" in answer
        cited = [c for event in said if isinstance(event, CitationEvent) for c in event.citations]
        assert any(c.document_id == document and "四十巴" in c.quote for c in cited)


@pytest.mark.parametrize(("share", "reranked"), [(0.0, 0), (0.5, 1)])
async def test_the_rerankers_own_setting_decides_whether_it_orders(
    share: float, reranked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    asked = RerankerService.Rerank

    async def counted(self: RerankerService, request: Any, context: Any) -> Any:
        calls.append(request.query)
        return await asked(self, request, context)

    monkeypatch.setattr(RerankerService, "Rerank", counted)
    async with stack(reranker={"blend_weight": share}) as service_names:
        await service_names.ingest("pump.md", PUMP)
        for question in (ASKED, "When was the pump built?"):
            assert isinstance((await service_names.ask(question))[-1], DoneEvent)
        found = await service_names.client.query.search(ASKED)
        assert "40 bar" in found[0].text
    assert len(calls) == 3 * reranked


async def test_stored_ids_reach_the_prompt() -> None:
    async with stack() as service_names:
        await service_names.ingest("pump.md", PUMP)
        passages = await service_names.client.retrieval.search(ASKED, with_token_ids=True)
        model = (await service_names.client.generation.list())[0]
        assert {passage.tokenizer_digest for passage in passages} == {model.tokenizer_digest}
        done = (await service_names.ask(ASKED))[-1]
        assert isinstance(done, DoneEvent)
        assert done.usage.prompt_tokens > sum(len(passage.token_ids) for passage in passages)


async def test_an_empty_store_has_no_sources_and_an_unknown_collection_is_not_found() -> None:
    async with stack() as service_names:
        said = await service_names.ask("anything at all?")
        assert isinstance(said[-1], DoneEvent)
        assert said[-1].finish == "no_sources"
        with pytest.raises(NotFound, match="nope"):
            await service_names.ask(ASKED, collection="nope")
        with pytest.raises(InvalidInput):
            await service_names.ask("x" * 1_000_000)
        reply = await service_names.http.post("/v1/query", json={"query": ASKED, "collection": "nope"})
        assert reply.status_code == 404


async def test_a_model_that_dies_on_the_way_leaves_an_answer() -> None:
    async with stack({"fake_die_after": 3, "exit_on_engine_death": False}) as service_names:
        await service_names.ingest("pump.md", PUMP)
        said = await service_names.ask(ASKED)
        answer, done = await check(service_names, said)
        assert done.finish == "interrupted"
        assert "40 bar" in answer
        again = await service_names.ask(ASKED)
        answer, done = await check(service_names, again)
        assert (done.finish, done.mode) == ("complete", "extractive")
        assert "not available" in done.notice
        assert "40 bar" in answer


@pytest.mark.parametrize("gone", ["generation", "reranker", "tokenizer"])
async def test_a_service_that_is_gone_makes_a_plainer_answer(gone: str) -> None:
    async with stack() as service_names:
        await service_names.ingest("pump.md", PUMP)
        await service_names.servers[gone].stop()
        async with asyncio.timeout(5):
            said = await service_names.ask(ASKED)
        answer, done = await check(service_names, said)
        assert "40 bar" in answer
        assert done.notice


async def test_without_retrieval_there_is_a_prompt_error() -> None:
    async with stack() as service_names:
        await service_names.servers["retrieval"].stop()
        async with asyncio.timeout(5):
            with pytest.raises(Unavailable):
                await service_names.ask(ASKED)
            assert (await service_names.http.get("/readyz")).status_code == 503


async def test_hanging_up_ends_the_work_in_the_last_service() -> None:
    async with stack({"fake_delay_s": 0.2}) as service_names:
        await service_names.ingest("pump.md", PUMP)
        call = asyncio.create_task(service_names.ask(ASKED))
        await until(service_names, running=1)
        call.cancel()
        await asyncio.wait({call})
        await until(service_names, running=0)


@pytest.mark.slow
async def test_a_crowd_gets_right_answers() -> None:
    async with stack() as service_names:
        await service_names.ingest("pump.md", PUMP)
        await service_names.ingest("whales.md", WHALES)
        asked = [ASKED, "What does a blue whale eat every day?"] * 16
        for question, said in zip(asked, await asyncio.gather(*map(service_names.ask, asked)), strict=True):
            answer, _ = await check(service_names, said)
            assert ("krill" if "whale" in question else "40 bar") in answer


async def until(service_names: Stack, running: int) -> None:
    async with asyncio.timeout(10):
        while (await service_names.client.generation.list())[0].running_requests != running:
            await asyncio.sleep(0.02)
