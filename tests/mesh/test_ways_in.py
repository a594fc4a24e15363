"""Every way in through the sidecar, with its policy and limits: the clients of each API, assistants, the examples."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import ollama
import openai
import perplexity
import pytest
from mcp import Client, StdioServerParameters

from tests.support.running import RunningMesh

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TEXT = "# Pump\n\nThe pump runs at 40 bar. It was built in 1987 by Acme.\n"
ASKED = "At what pressure does the pump run?"
MESSAGES: Any = [{"role": "user", "content": ASKED}]
RUN_S = 60


@pytest.fixture
async def http(fake_mesh: RunningMesh) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the door, with a document behind it."""
    headers = {"authorization": f"Bearer {fake_mesh.stack.key}"}
    async with httpx.AsyncClient(base_url=base(fake_mesh), headers=headers, timeout=60) as client:
        sent = await client.post(
            "/v1/documents",
            content=TEXT.encode(),
            params={"filename": "pump.md"},
            headers={"content-type": "text/markdown"},
        )
        assert sent.status_code in (200, 201), sent.text
        yield client


def base(mesh: RunningMesh) -> str:
    return f"http://127.0.0.1:{mesh.options.port_base}"


async def test_perplexity(fake_mesh: RunningMesh, http: httpx.AsyncClient) -> None:
    async with perplexity.AsyncPerplexity(api_key=fake_mesh.stack.key, base_url=base(fake_mesh)) as client:
        answer: Any = await client.chat.completions.create(model="sonar", messages=MESSAGES)
        assert answer.choices[0].message.content
        titles = {url: (await http.get(url)).json()["title"] for url in answer.citations}
        [url] = [url for url, title in titles.items() if title == "Pump"]  # other tests' documents may be beside it
        stream = await client.chat.completions.create(model="sonar", messages=MESSAGES, stream=True)
        chunks: list[Any] = [chunk async for chunk in stream]
        assert chunks[-1].citations == answer.citations
        assert (await client.search.create(query=ASKED)).results[0].url == url
        later: Any = await client.async_.chat.completions.create(request={"model": "sonar", "messages": MESSAGES})
        async with asyncio.timeout(RUN_S):
            while later.status not in ("COMPLETED", "FAILED"):
                await asyncio.sleep(0.1)
                later = await client.async_.chat.completions.get(later.id)
        assert (later.error_message, later.response.citations) == (None, answer.citations)
        agent: Any = await client.responses.create(model="sonar", input=ASKED)
        assert agent.output_text


async def test_openai(fake_mesh: RunningMesh, http: httpx.AsyncClient) -> None:
    async with openai.AsyncOpenAI(api_key=fake_mesh.stack.key, base_url=f"{base(fake_mesh)}/v1") as client:
        answer = await client.chat.completions.create(model="citemesh", messages=MESSAGES)
        assert answer.choices[0].message.content
        stream: Any = await client.responses.create(model="citemesh", input=ASKED, stream=True)
        assert [event async for event in stream][-1].type == "response.completed"
        assert len((await client.embeddings.create(model="citemesh", input=["pump"])).data) == 1
    async with openai.AsyncOpenAI(api_key="cm_00000000_x", base_url=f"{base(fake_mesh)}/v1") as stranger:
        with pytest.raises(openai.AuthenticationError):
            await stranger.models.list()


async def test_ollama(fake_mesh: RunningMesh, http: httpx.AsyncClient) -> None:
    client = ollama.AsyncClient(base(fake_mesh), headers={"authorization": f"Bearer {fake_mesh.stack.key}"})
    parts: list[Any] = [part async for part in await client.chat("citemesh", MESSAGES, stream=True)]
    assert parts[-1].done
    assert "".join(part.message.content for part in parts)
    assert (await client.list()).models


async def test_documents_collections_and_threads(fake_mesh: RunningMesh, http: httpx.AsyncClient) -> None:
    assert (await http.post("/v1/collections", json={"name": "rest"})).status_code in (201, 409)
    files = {"file": ("a.md", TEXT.encode(), "text/markdown")}
    reply = await http.post("/v1/documents", files=files, params={"collection": "rest", "stream": "true"})
    assert "event: done" in reply.text
    [listed] = (await http.get("/v1/documents", params={"collection": "rest"})).json()["documents"]
    path = f"/v1/documents/{listed['document_id']}"
    assert (await http.delete(path, params={"collection": "rest"})).status_code == 200
    assert (await http.delete("/v1/collections/rest")).status_code == 204
    thread = (await http.post("/v1/query", json={"query": ASKED, "start_thread": True})).json()["thread_id"]
    assert thread in [one["thread_id"] for one in (await http.get("/v1/threads")).json()["threads"]]
    assert (await http.delete(f"/v1/threads/{thread}")).status_code == 204


async def test_pages_need_no_key_and_all_else_does(fake_mesh: RunningMesh, http: httpx.AsyncClient) -> None:
    async with httpx.AsyncClient(base_url=base(fake_mesh)) as stranger:
        described = (await stranger.get("/openapi.json")).json()
        assert (await stranger.get("/docs")).status_code == 200
        open_paths = {"/", "/docs", "/openapi.json", "/assets/{name}"}
        for path, methods in described["paths"].items():
            for method in methods:
                reply = await stranger.request(method, path.replace("{", "").replace("}", ""))
                assert (reply.status_code == 401) == (path not in open_paths), (method, path, reply.status_code)


async def test_assistants(fake_mesh: RunningMesh, http: httpx.AsyncClient) -> None:
    state = str(fake_mesh.options.state_dir)
    command = ["-m", "cli", "mcp", "--key", fake_mesh.stack.key]
    command += [
        "--target",
        fake_mesh.stack.targets["gateway"],
        "--documents-target",
        fake_mesh.stack.targets["retrieval"],
    ]
    server = StdioServerParameters(
        command=sys.executable, args=command, env=os.environ | {"CITEMESH_STATE_DIR": state}, cwd=Path.cwd()
    )
    async with Client(server, read_timeout_seconds=RUN_S) as client:
        answer = await client.call_tool("ask", {"question": ASKED})
        assert not answer.is_error, answer.content
        found = await client.call_tool("search", {"query": ASKED})
        assert found.structured_content is not None
        document = found.structured_content["passages"][0]["document_id"]
        text = await client.call_tool("read_document", {"document_id": document})
        assert text.structured_content is not None
        assert "40 bar" in text.structured_content["text"]


async def run(mesh: RunningMesh, folder: Path, *command: str) -> str:
    """What a program prints; fails with what it complains of."""
    environment = os.environ | {"CITEMESH_KEY": mesh.stack.key}
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(*command, cwd=folder, env=environment, stdout=pipe, stderr=pipe)
    out, error = await asyncio.wait_for(running.communicate(), RUN_S)
    assert running.returncode == 0, error.decode()
    return out.decode()


async def test_the_example_in_python(fake_mesh: RunningMesh, http: httpx.AsyncClient) -> None:
    target = fake_mesh.stack.targets["gateway"]
    assert "[1] Pump" in await run(fake_mesh, EXAMPLES / "python", sys.executable, "ask.py", ASKED, target)


async def test_the_example_in_node(fake_mesh: RunningMesh, http: httpx.AsyncClient, tmp_path: Path) -> None:
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    folder = tmp_path / "examples" / "node"
    shutil.copytree(EXAMPLES / "node", folder)
    (tmp_path / "protos").symlink_to(EXAMPLES.parent / "protos")
    try:
        await run(fake_mesh, folder, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
    except (AssertionError, TimeoutError) as error:
        pytest.skip(f"npm can't install its packages here: {error}")
    target = fake_mesh.stack.targets["gateway"]
    assert "[1] Pump" in await run(fake_mesh, folder, "node", "ask.js", ASKED, target)
