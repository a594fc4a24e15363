"""Services in the caller's process answer as over the wire: the same values, the same errors."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from citemesh.client import Mesh
from citemesh.client.generation import GenerationClient
from citemesh.client.reranker import RerankerClient
from citemesh.client.tokenizer import TokenizerClient
from citemesh.client.types import Candidate, MetadataCondition, Sampling, Search, SearchFilter, Upload
from citemesh.errors import AlreadyExists, CiteMeshError, InvalidInput, NotFound, NotSupported
from citemesh.kit.server import Server, ServiceSpec
from citemesh.kit.settings import ServiceSettings
from services.generation.local import local_generation
from services.generation.main import build as generation_service
from services.generation.settings import GenerationSettings
from services.reranker.local import local_reranker
from services.reranker.main import build as reranker_service
from services.reranker.settings import RerankerSettings
from services.retrieval.local import LocalRetrieval, local_retrieval
from services.retrieval.main import build as retrieval_service
from services.retrieval.settings import RetrievalSettings
from services.tokenizer.local import local_tokenizer
from services.tokenizer.main import build as tokenizer_service
from services.tokenizer.settings import TokenizerSettings

TEXT = "Envoy 是一个代理 🚀. A sidecar stands beside each service. Keys are checked at the door."
SCHEMA = '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}'


@dataclass
class Clients:
    """Clients of all services, over one of the transports."""

    tokenizer: TokenizerClient
    retrieval: LocalRetrieval
    generation: GenerationClient
    reranker: RerankerClient


@asynccontextmanager
async def in_process(folder: Path) -> AsyncIterator[Clients]:
    async with (
        local_tokenizer(TokenizerSettings(engine="fake")) as tokenizer,
        local_retrieval(retrieval_settings(folder)) as retrieval,
        local_generation(GenerationSettings(engine="fake")) as generation,
        local_reranker(RerankerSettings(engine="fake")) as reranker,
    ):
        yield Clients(tokenizer, retrieval, generation, reranker)


@asynccontextmanager
async def over_the_wire(folder: Path) -> AsyncIterator[Clients]:
    def listen(name: str) -> str:
        return f"unix:{os.path.relpath(folder / name)}"

    services: dict[str, tuple[Callable[[Any], ServiceSpec], ServiceSettings]] = {
        "tokenizer": (tokenizer_service, TokenizerSettings(engine="fake", listen=listen("t"), drain_s=0.2)),
        "retrieval": (retrieval_service, retrieval_settings(folder, listen=listen("r"), drain_s=0.2)),
        "generation": (generation_service, GenerationSettings(engine="fake", listen=listen("g"), drain_s=0.2)),
        "reranker": (reranker_service, RerankerSettings(engine="fake", listen=listen("k"), drain_s=0.2)),
    }
    async with AsyncExitStack() as stack:
        for build, settings in services.values():
            server = Server(build(settings), settings)
            await server.start()
            stack.push_async_callback(server.stop)
        mesh = await stack.enter_async_context(Mesh({name: made.address for name, (_, made) in services.items()}))
        retrieval = LocalRetrieval(mesh.retrieval, mesh.documents, mesh.collections)
        yield Clients(mesh.tokenizer, retrieval, mesh.generation, mesh.reranker)


def retrieval_settings(folder: Path, **changes: Any) -> RetrievalSettings:
    return RetrievalSettings(embedding_engine="fake", readers=0, state_dir=folder, **changes)


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[tuple[Clients, Clients]]:
    async with in_process(tmp_path / "local") as local, over_the_wire(tmp_path / "wire") as wire:
        yield local, wire


async def test_tokens_there_and_back(both: tuple[Clients, Clients]) -> None:
    answers = []
    for clients in both:
        tokenizer = clients.tokenizer
        encoded = await tokenizer.encode([TEXT, ""])
        assert await tokenizer.decode(encoded.sequences) == (TEXT, "")
        assert (await tokenizer.list())[0].digest == encoded.digest
        chat = await tokenizer.render_chat([("user", TEXT)])
        assert TEXT in chat.text
        answers.append((encoded, chat, await tokenizer.list()))
    assert answers[0] == answers[1]


async def test_the_reranker_judges_and_attributes(both: tuple[Clients, Clients]) -> None:
    answers = []
    for clients in both:
        reranker = clients.reranker
        passages = [Candidate("far", "nothing of the kind", 0.1), Candidate("near", TEXT, 0.9)]
        ranked = await reranker.rerank("a sidecar beside each service", passages)
        assert [one.id for one in ranked] == ["near", "far"]
        [[best, *others]] = await reranker.attribute(["A sidecar stands beside each service."], passages)
        assert best.passage_id == "near"
        answers.append((ranked, best, others, await reranker.model()))
    assert answers[0] == answers[1]


async def test_generation_ends_with_its_usage(both: tuple[Clients, Clients]) -> None:
    answers = []
    for clients in both:
        ids = (await clients.tokenizer.encode([TEXT])).sequences[0]
        found = [delta async for delta in clients.generation.generate(ids, sampling=Sampling(max_tokens=8))]
        assert found[-1].finish
        assert found[-1].usage is not None
        assert found[-1].usage.prompt_tokens == len(ids)
        assert (await clients.generation.list())[0].engine == "fake"
        answers.append(("".join(delta.text for delta in found), found[-1], await clients.generation.list()))
    assert answers[0] == answers[1]


async def test_schemas_and_grammars_reach_the_engine(both: tuple[Clients, Clients]) -> None:
    for clients in both:
        ids = (await clients.tokenizer.encode(["Where is the pump?"])).sequences[0]
        shaped = Sampling(json_schema=SCHEMA)
        text = "".join([delta.text async for delta in clients.generation.generate(ids, sampling=shaped)])
        assert '"city"' in text
        with pytest.raises(NotSupported, match="a grammar, by the fake engine"):
            [delta async for delta in clients.generation.generate(ids, sampling=Sampling(grammar='root ::= "yes"'))]
        with pytest.raises(InvalidInput, match="json_schema"):
            [delta async for delta in clients.generation.generate([1], sampling=Sampling(json_schema="[]"))]


async def test_documents_come_in_and_are_found_by_conditions_on_their_metadata(both: tuple[Clients, Clients]) -> None:
    answers = []
    for clients in both:
        retrieval = clients.retrieval
        uploads = [Upload(str(year), f"The pump of {year} 泵.".encode(), document_id=str(year),
                          metadata={"year": str(year)}) for year in (2001, 2024)]  # fmt: skip
        for upload in uploads:  # one after the other, so that both stores number them alike
            assert [report.state async for report in retrieval.documents.ingest([upload])][-1] == "committed"
        recent = SearchFilter(conditions=(MetadataCondition("year", numbers=(2010, None)),))
        found = await retrieval.search.find(Search("the pump", filter=recent))
        assert [passage.document_id for passage in found.passages] == ["2024"]
        (document, text), (collection,) = await retrieval.documents.get("2024"), await retrieval.collections.list()
        many = await retrieval.search.find_many([Search("pump 2001"), Search("泵", mode="lexical")])
        vectors = await retrieval.search.embed(["the pump"], as_queries=True)
        answers.append((found, (document.title, text), collection, many, vectors))
        assert await retrieval.documents.delete(["2001", "1999"]) == (("2001",), ("1999",))
    assert answers[0] == answers[1]


async def test_errors_are_the_same(both: tuple[Clients, Clients]) -> None:
    calls: list[tuple[Callable[[Clients], Any], type[CiteMeshError]]] = [
        (lambda clients: clients.retrieval.search.search("x", "nowhere"), NotFound),
        (lambda clients: clients.retrieval.search.search(" "), InvalidInput),
        (lambda clients: clients.retrieval.collections.create("default"), AlreadyExists),
        (lambda clients: clients.tokenizer.encode(["x"], "unknown"), NotFound),
        (lambda clients: clients.reranker.rerank("", [Candidate("a", "b")]), InvalidInput),
    ]
    for call, kind in calls:
        texts = []
        for clients in both:
            with pytest.raises(kind) as caught:
                await call(clients)
            texts.append((caught.type, str(caught.value)))
        assert texts[0] == texts[1]


async def test_what_uploads_raise_is_raised(both: tuple[Clients, Clients]) -> None:
    async def uploads() -> AsyncIterator[Upload]:
        yield Upload("a", b"About apples.", document_id="a")
        raise OSError("the disk is gone")

    for clients in both:
        with pytest.raises(OSError, match="the disk is gone"):
            [report async for report in clients.retrieval.documents.ingest(uploads())]
