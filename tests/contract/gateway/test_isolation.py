"""The gateway carries its caller's reach to retrieval: 403, or PERMISSION_DENIED, by every way in that finds documents.

The policy says what a key may reach in `x-citemesh-collections`; these tests say it in the policy's place.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from citemesh.client import Mesh
from citemesh.client.types import Question, Upload
from citemesh.errors import PermissionDenied
from citemesh.kit import call_context
from citemesh.kit.server import Server
from services.retrieval import main
from services.retrieval.ingestion.passage_tokens import NoTokenizer
from services.retrieval.settings import RetrievalSettings
from services.retrieval.wiring.engine import engine_of
from tests.contract.gateway.gateway_service import Neighbours, Running, gateway
from tests.unit.gateway.query import fakes

MINE = {"x-citemesh-collections": "mine,team-*"}
ASKED = "At what pressure does the pump run?"
TEXT = b"The pump runs at 40 bar. It was built in 1987."
FORBIDDEN = ("theirs", "default", "no-such-collection")


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    """A gateway whose searches go to a retrieval service with the collections default, mine and theirs."""
    settings = RetrievalSettings(
        listen=f"unix:{tmp_path}/r.sock",
        state_dir=tmp_path,
        engine="fake",
        embedding_engine="fake",
        readers=0,
        drain_s=1,
    )
    parts = main.RetrievalParts(settings, engine_of(settings), NoTokenizer())
    server = Server(main.service_of(parts, settings), settings)
    await server.start()
    try:
        async with Mesh({"retrieval": settings.address}) as mesh:
            for name in ("mine", "theirs"):
                await mesh.collections.create(name)
            for name in ("default", "mine", "theirs"):
                async for _ in mesh.documents.ingest([Upload("1", TEXT, name, "pump", media_type="text/plain")]):
                    pass
            near = Neighbours(documents=mesh.documents, collections=mesh.collections, retrieval=mesh.retrieval)
            service_names: Any = fakes.Mesh(retrieval=mesh.retrieval)  # type: ignore[arg-type]  # the real one in its place
            async with gateway(service_names, near) as made:
                yield made
    finally:
        await server.stop()


@pytest.mark.parametrize("name", FORBIDDEN)
async def test_a_question_over_a_forbidden_collection_is_refused(running: Running, name: str) -> None:
    with call_context.calling(call_context.from_headers(MINE, 10)):
        with pytest.raises(PermissionDenied, match=name):
            async for _ in running.client.query.ask(Question(ASKED, name)):
                pass
        with pytest.raises(PermissionDenied, match=name):
            await running.client.query.search(ASKED, name)
        with pytest.raises(PermissionDenied, match=name):
            await running.client.query.search(ASKED, "mine", more_collections=[name])


async def test_a_question_over_ones_own_is_answered(running: Running) -> None:
    with call_context.calling(call_context.from_headers(MINE, 10)):
        events = [event async for event in running.client.query.ask(Question(ASKED, "mine"))]
        assert fakes.answer_of(events)
        found = await running.client.query.search(ASKED, "mine")
        assert {source.collection for source in found} == {"mine"}


CHAT = {"model": "citemesh", "messages": [{"role": "user", "content": ASKED}], "collection": "{}"}
CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/v1/query", {"json": {"query": ASKED, "collection": "{}"}}),
    ("POST", "/v1/query", {"json": {"query": ASKED, "collection": "mine", "more_collections": ["{}"]}}),
    ("POST", "/v1/search", {"json": {"query": ASKED, "collection": "{}"}}),
    ("POST", "/v1/chat/completions", {"json": CHAT}),
    ("POST", "/chat/completions", {"json": CHAT | {"model": "sonar"}}),
    ("POST", "/api/chat", {"json": CHAT | {"stream": False}}),
    ("POST", "/v1/responses", {"json": {"model": "citemesh", "input": ASKED, "collection": "{}"}}),
    ("POST", "/search", {"json": {"query": ASKED, "collection": "{}"}}),
    ("POST", "/v1/documents?collection={}", {"content": TEXT, "headers": {"content-type": "text/plain"}}),
    ("GET", "/v1/documents?collection={}", {}),
    ("GET", "/v1/documents/pump?collection={}", {}),
    ("DELETE", "/v1/documents/pump?collection={}", {}),
    ("GET", "/v1/collections/{}", {}),
    ("DELETE", "/v1/collections/{}", {}),
    ("POST", "/v1/collections", {"json": {"name": "{}"}}),
]


def named(value: Any, name: str) -> Any:
    """The call with the collection's name in its place."""
    if isinstance(value, str):
        return value.replace("{}", name)
    if isinstance(value, dict):
        return {key: named(each, name) for key, each in value.items()}
    return [named(each, name) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("method", "path", "more"), CALLS, ids=[f"{call[0]} {call[1]}" for call in CALLS])
async def test_rest_says_403_and_the_same_of_what_exists_and_what_does_not(
    running: Running, method: str, path: str, more: dict[str, Any]
) -> None:
    told = set()
    for name in FORBIDDEN:
        call = named(more, name)
        headers = {**MINE, **call.pop("headers", {})}
        reply = await running.http.request(method, named(path, name), headers=headers, **call)
        assert reply.status_code == 403, reply.text
        told.add(reply.text.replace(name, "…"))
    assert len(told) == 1


async def test_lists_show_ones_own_alone(running: Running) -> None:
    reply = await running.http.get("/v1/collections", headers=MINE)
    assert [found["name"] for found in reply.json()["collections"]] == ["mine"]
    models = await running.http.get("/v1/models", headers=MINE)
    assert "theirs" not in models.text
