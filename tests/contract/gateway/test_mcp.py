"""The server for assistants, with the protocol's own client: in the process, over pipes and over HTTP."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters

from citemesh.client import Mesh
from citemesh.client.citation_markers import with_markers
from citemesh.client.types import Citation, CitationEvent, Location, Span, Upload
from citemesh.errors import InvalidInput, Unavailable
from citemesh.mcp import documents
from citemesh.mcp.clients import MeshClients
from citemesh.mcp.server import build
from cli.operations.mcp import loopback
from tests.contract.gateway.gateway_service import Running
from tests.contract.rest.library_service import library
from tests.contract.rest.rest_service import ASKED, MARKED, until

TEXT = "# 茶道\n\nGreen tea wants water of eighty degrees 🍵.\n"
ID = "manuals/../泵 1?.md"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with library(tmp_path) as service:
        upload = Upload("1", TEXT.encode(), document_id=ID, title="Tea", media_type="text/markdown")
        async for _ in service.neighbours.documents.ingest([upload]):
            pass
        yield service


def addresses(running: Running) -> tuple[str, str]:
    return running.settings.address, f"unix:{running.retrieval_socket}"


@asynccontextmanager
async def connected(running: Running) -> AsyncIterator[Client]:
    gateway, retrieval = addresses(running)
    async with (
        Mesh({"gateway": gateway}) as one,
        Mesh({"retrieval": retrieval}) as other,
        Client(build(MeshClients(one, other), 30), read_timeout_seconds=20) as client,
    ):
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return dict(result.structured_content)


async def test_what_there_is(running: Running) -> None:
    async with connected(running) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"search", "ask", "list_collections", "read_document"}
        for tool in tools.values():
            assert tool.description
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
            assert all(field.get("description") for field in tool.input_schema["properties"].values())
        assert "context" not in tools["ask"].input_schema["properties"]
        [resource] = (await client.list_resources()).resources
        assert (resource.title, resource.uri) == ("Tea", documents.address("default", ID))
        [template] = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == documents.TEMPLATE


async def test_tools(running: Running) -> None:
    async with connected(running) as client:
        found = (await call(client, "search", query=ASKED, top_k=2, source_types=["pdf"]))["passages"]
        assert [(one["number"], one["document_id"]) for one in found] == [(1, "d1"), (2, "d2")]
        assert running.mesh.retrieval.asked[-1][2] == ("pdf",)
        [known] = (await call(client, "list_collections"))["collections"]
        assert known == {"name": "default", "documents": 1}
        read = await call(client, "read_document", document_id=ID)
        assert "🍵" in read["text"]
        assert read["characters"] == len(read["text"]) == read["end"]
        at = read["text"].index("🍵")
        part = await call(client, "read_document", document_id=ID, start=at, end=at + 1)
        assert (part["text"], part["start"], part["end"]) == ("🍵", at, at + 1)
        assert (await call(client, "read_document", document_id=ID, start=10**9))["text"] == ""


async def test_ask_tells_its_progress(running: Running) -> None:
    told: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async with connected(running) as client:
        result = await client.call_tool("ask", {"question": ASKED}, progress_callback=note)
        answer = result.structured_content
        assert answer is not None
        async with asyncio.timeout(5):
            while len(told) < 5:
                await asyncio.sleep(0.01)
    assert answer["answer"] == MARKED
    assert [one["number"] for one in answer["sources"]] == [1, 2]
    assert [progress for progress, _ in told] == [1, 2, 3, 4, 5]
    notes = [message for _, message in told]
    assert notes[0] == f"Searching for: {ASKED}"
    assert notes[-1] == "It was built in 1987."


async def test_who_gives_up_ends_the_work(running: Running) -> None:
    running.mesh.generation.hang = True
    async with connected(running) as client:
        call_ = asyncio.create_task(client.call_tool("ask", {"question": ASKED}))
        await until(lambda: running.mesh.generation.running)
        call_.cancel()
        await until(lambda: not running.mesh.generation.running)


async def test_resources_are_read_by_their_address(running: Running) -> None:
    async with connected(running) as client:
        [content] = (await client.read_resource(documents.address("default", ID))).contents
        assert "🍵" in content.text  # type: ignore[union-attr]  # a document is text
        with pytest.raises(MCPError, match="nothing"):
            await client.read_resource(documents.address("default", "nothing"))


async def test_faults_are_told_as_the_meshs_own(running: Running) -> None:
    async with connected(running) as client:
        for tool, arguments, text in (
            ("ask", {"question": " "}, "question"),
            ("search", {"query": "q", "top_k": 1000}, "top_k"),
            ("search", {"query": "q", "source_types": ["video"]}, "video"),
            ("read_document", {"document_id": "nothing"}, "nothing"),
        ):
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            assert text in result.content[0].text  # type: ignore[union-attr]  # a fault is text
        running.mesh.retrieval.error = Unavailable("retrieval")
        result = await client.call_tool("ask", {"question": ASKED})
        assert "retrieval is not available" in result.content[0].text  # type: ignore[union-attr]  # as above
        running.mesh.retrieval.error = RuntimeError("secret")
        result = await client.call_tool("ask", {"question": ASKED})
        assert result.is_error
        assert "secret" not in str(result.content)


@pytest.mark.slow
async def test_over_pipes(running: Running, tmp_path: Path) -> None:
    gateway, retrieval = addresses(running)
    command = ["-m", "cli", "mcp", "--target", gateway, "--documents-target", retrieval]
    environment = os.environ | {"CITEMESH_STATE_DIR": str(tmp_path)}
    server = StdioServerParameters(command=sys.executable, args=command, env=environment, cwd=Path.cwd())
    async with Client(server, read_timeout_seconds=30) as client:
        assert (await call(client, "ask", question=ASKED))["answer"] == MARKED


async def test_over_http(running: Running) -> None:
    gateway, retrieval = addresses(running)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    async with Mesh({"gateway": gateway}) as one, Mesh({"retrieval": retrieval}) as other:
        serving = asyncio.create_task(build(MeshClients(one, other), 30).run_streamable_http_async(port=port))
        try:
            async with asyncio.timeout(10):
                while not await _listens(port):
                    await asyncio.sleep(0.01)
            async with Client(f"http://127.0.0.1:{port}/mcp", read_timeout_seconds=20) as client:
                assert (await call(client, "ask", question=ASKED))["answer"] == MARKED
        finally:
            serving.cancel()
            await asyncio.wait({serving})


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


def test_http_is_for_this_machine_alone() -> None:
    assert loopback("127.0.0.1:8765") == ("127.0.0.1", 8765)
    assert loopback("localhost:80") == ("localhost", 80)
    assert loopback("[::1]:80") == ("::1", 80)
    for bad in ("0.0.0.0:80", "10.0.0.1:80", "acme.com:80", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:x", "[::]:1"):
        with pytest.raises(InvalidInput):
            loopback(bad)


def sentence(start: int, end: int, *numbers: int) -> CitationEvent:
    cited = tuple(Citation(number, "d", "c", Location(Span(0, 1)), "q", 1) for number in numbers)
    return CitationEvent(Span(start, end), cited, bool(cited))


def test_markers_stand_behind_their_sentences_and_outside_of_code() -> None:
    assert with_markers("One. Two.\n", [sentence(0, 5, 2, 1), sentence(5, 10)]) == "One.[1][2] Two.\n"
    code = "See:\n```\na.\nb.\n```\nDone."
    ends = [code.index("a.") + 3, code.index("b.") + 3, len(code)]
    events = [sentence(0, ends[0], 1), sentence(ends[0], ends[1], 2), sentence(ends[1], ends[2], 3)]
    assert with_markers(code, events) == f"{code}\n[1][2][3]"
    assert with_markers("x", [sentence(0, 1)]) == "x"
    assert with_markers("```\nx", [sentence(0, 5, 1)]) == "```\nx\n[1]"
