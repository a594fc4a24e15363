"""A service called in process answers as it does over the wire: results, streams, refusals and time limits."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from citemesh.client import Mesh
from citemesh.client.types import Candidate, MetadataCondition, Sampling, Search, SearchFilter, Upload
from citemesh.errors import (
    AlreadyExists,
    CiteMeshError,
    DeadlineExceeded,
    InvalidInput,
    NotFound,
    NotSupported,
    PermissionDenied,
)
from citemesh.kit import call_context
from citemesh.kit.collection_scope import CollectionScope
from citemesh.kit.server import Server, ServiceSpec
from citemesh.kit.settings import ServiceSettings
from services.generation import main as generation_main
from services.generation.local import local_generation
from services.generation.settings import GenerationSettings
from services.reranker import main as reranker_main
from services.reranker.local import local_reranker
from services.reranker.settings import RerankerSettings
from services.retrieval import main as retrieval_main
from services.retrieval.local import LocalRetrieval, local_retrieval
from services.retrieval.settings import RetrievalSettings
from services.tokenizer import main as tokenizer_main
from services.tokenizer.local import local_tokenizer
from services.tokenizer.settings import TokenizerSettings

TEXT = "Envoy 是一个代理 🚀. A sidecar stands beside each service. Keys are checked on the way in."


@asynccontextmanager
async def over_the_wire(spec: ServiceSpec, settings: ServiceSettings) -> AsyncIterator[Mesh]:
    server = Server(spec, settings)
    await server.start()
    try:
        async with Mesh({spec.name: settings.address}) as mesh:
            yield mesh
    finally:
        await server.stop()


async def test_the_tokenizer(tmp_path: Path) -> None:
    settings = TokenizerSettings(engine="fake", state_dir=tmp_path)
    async with local_tokenizer(settings) as local, over_the_wire(tokenizer_main.build(settings), settings) as mesh:
        encoded = await local.encode([TEXT, ""])
        assert encoded == await mesh.tokenizer.encode([TEXT, ""])
        assert await local.decode(encoded.sequences) == (TEXT, "")
        chat = await local.render_chat([("user", TEXT)])
        assert chat == await mesh.tokenizer.render_chat([("user", TEXT)])
        assert await local.list() == await mesh.tokenizer.list()
        for tokenizer in (local, mesh.tokenizer):
            with pytest.raises(InvalidInput) as refused:
                await tokenizer.render_chat([("nobody", TEXT)])
            assert refused.value.field == "messages[0].role"


async def test_the_reranker(tmp_path: Path) -> None:
    settings = RerankerSettings(engine="fake", state_dir=tmp_path)
    passages = [Candidate("far", "nothing of the kind", 0.1), Candidate("near", TEXT, 0.9)]
    async with local_reranker(settings) as local, over_the_wire(reranker_main.build(settings), settings) as mesh:
        ranked = await local.rerank("a sidecar beside each service", passages)
        assert [one.id for one in ranked] == ["near", "far"]
        assert ranked == await mesh.reranker.rerank("a sidecar beside each service", passages)
        sentences = ["A sidecar stands beside each service."]
        support = await local.attribute(sentences, passages)
        assert support[0][0].passage_id == "near"
        assert support == await mesh.reranker.attribute(sentences, passages)
        assert await local.model() == await mesh.reranker.model()


async def test_generation_with_a_schema_a_grammar_and_its_refusals(tmp_path: Path) -> None:
    settings = GenerationSettings(engine="fake", state_dir=tmp_path)
    ids = tuple(TEXT.encode())
    samplings = (
        Sampling(max_tokens=8),
        Sampling(max_tokens=64, json_schema='{"type": "object"}'),
    )
    async with local_generation(settings) as local, over_the_wire(generation_main.build(settings), settings) as mesh:
        for sampling in samplings:
            deltas = [delta async for delta in local.generate(ids, sampling=sampling)]
            assert deltas[-1].finish
            assert deltas[-1].usage is not None
            assert deltas[-1].usage.prompt_tokens == len(ids)
            wired = [delta async for delta in mesh.generation.generate(ids, sampling=sampling)]
            assert "".join(delta.text for delta in deltas) == "".join(delta.text for delta in wired)
        for generation in (local, mesh.generation):
            with pytest.raises(NotSupported):  # the fake engine takes none, so it has arrived
                async for _ in generation.generate(ids, sampling=Sampling(max_tokens=8, grammar='root ::= "a"')):
                    pass
            with pytest.raises(NotFound):
                async for _ in generation.generate(ids, model="nobody's"):
                    pass
            with pytest.raises(InvalidInput):
                async for _ in generation.generate(()):
                    pass


async def ingested(local: LocalRetrieval, collection: str) -> list[str]:
    uploads = [
        Upload("a", TEXT.encode(), collection=collection, title="Sidecars", metadata={"team": "infra"}),
        Upload("b", b"", collection=collection),
    ]
    return [progress.state async for progress in local.documents.ingest(uploads)]


async def test_retrieval_ingests_searches_and_filters(tmp_path: Path) -> None:
    settings = RetrievalSettings(engine="fake", embedding_engine="fake", readers=0, state_dir=tmp_path)
    async with local_retrieval(settings) as local:
        await local.collections.create("notes")
        states = await ingested(local, "notes")
        assert states.count("committed") == 1
        assert states.count("failed") == 1
        for team, count in (("infra", 1), ("sales", 0)):
            search = Search("what stands beside a service", "notes", filter=SearchFilter(metadata={"team": team}))
            assert len((await local.search.find(search)).passages) == count
        with pytest.raises(NotFound):
            await local.search.find(Search("anything", "nowhere"))
        with pytest.raises(InvalidInput):
            await local.search.find(Search("", "notes"))


async def test_the_collections_of_a_key_bound_calls_in_process_too(tmp_path: Path) -> None:
    settings = RetrievalSettings(engine="fake", embedding_engine="fake", readers=0, state_dir=tmp_path)
    context = call_context.CallContext(scope=CollectionScope.parse("notes"))
    async with local_retrieval(settings) as local:
        await local.collections.create("notes")
        await local.collections.create("secrets")
        with call_context.calling(context):
            assert [collection.name for collection in await local.collections.list()] == ["notes"]
            with pytest.raises(PermissionDenied):
                await local.search.find(Search("anything", "secrets"))


async def test_a_call_without_time_left_is_not_made(tmp_path: Path) -> None:
    settings = TokenizerSettings(engine="fake", state_dir=tmp_path)
    async with local_tokenizer(settings) as local:
        context = call_context.from_headers({}, 0.0)
        with call_context.calling(context), pytest.raises(DeadlineExceeded):
            await local.encode([TEXT])


async def test_what_is_not_built_says_so_by_name(tmp_path: Path) -> None:
    from citemesh.api.generation.v1 import generation_service_pb2 as pb

    settings = GenerationSettings(engine="fake", state_dir=tmp_path)
    async with local_generation(settings) as local:
        with pytest.raises(NotSupported) as refused:
            await local._caller.unary(local._stub.Score, pb.ScoreRequest())
        assert isinstance(refused.value, CiteMeshError)
        assert "Score" in str(refused.value)


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[tuple[LocalRetrieval, LocalRetrieval]]:
    """Two retrieval services on durable engines: one in process, one over the wire."""
    local_settings, settings = (
        RetrievalSettings(embedding_engine="fake", readers=0, state_dir=tmp_path / name, drain_s=0.2)
        for name in ("local", "w")
    )
    async with (
        local_retrieval(local_settings) as local,
        over_the_wire(retrieval_main.build(settings), settings) as mesh,
    ):
        yield local, LocalRetrieval(mesh.retrieval, mesh.documents, mesh.collections)


async def test_documents_come_in_and_are_found_by_conditions_on_their_metadata(
    both: tuple[LocalRetrieval, LocalRetrieval],
) -> None:
    answers = []
    for retrieval in both:
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


async def test_errors_are_the_same(both: tuple[LocalRetrieval, LocalRetrieval]) -> None:
    calls: list[tuple[Callable[[LocalRetrieval], Any], type[CiteMeshError]]] = [
        (lambda retrieval: retrieval.search.search("x", "nowhere"), NotFound),
        (lambda retrieval: retrieval.search.search(" "), InvalidInput),
        (lambda retrieval: retrieval.collections.create("default"), AlreadyExists),
        (lambda retrieval: retrieval.documents.get("nothing"), NotFound),
    ]
    for call, kind in calls:
        texts = []
        for retrieval in both:
            with pytest.raises(kind) as caught:
                await call(retrieval)
            texts.append((caught.type, str(caught.value)))
        assert texts[0] == texts[1]


async def test_what_uploads_raise_is_raised(both: tuple[LocalRetrieval, LocalRetrieval]) -> None:
    async def uploads() -> AsyncIterator[Upload]:
        yield Upload("a", b"About apples.", document_id="a")
        raise OSError("the disk is gone")

    for retrieval in both:
        with pytest.raises(OSError, match="the disk is gone"):
            [report async for report in retrieval.documents.ingest(uploads())]
