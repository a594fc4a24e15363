"""Documents, collections and embeddings over HTTP, down to a retrieval service that runs."""

import asyncio
import base64
import json
import os
import struct
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import ollama
import openai
import pytest

from citemesh.client.types import IngestProgress, Upload
from gateway.rest.native import documents, upload
from tests.contract.gateway.gateway_service import Neighbours, Running, gateway, transport_to
from tests.contract.rest.library_service import library
from tests.contract.rest.rest_service import over, sse, until

GUIDE = "# 茶道\n\nGreen tea wants water of eighty degrees 🍵. Boiling water makes it bitter.\n"
MARKDOWN = {"content-type": "text/markdown"}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with library(tmp_path, http_max_upload_mib=1) as service:
        yield service


async def post(running: Running, text: str = GUIDE, **query: Any) -> dict[str, Any]:
    reply = await running.http.post("/v1/documents", content=text.encode(), headers=MARKDOWN, params=query)
    assert reply.status_code in (200, 201), reply.text
    [found] = reply.json()["documents"]
    return dict(found)


async def test_a_document_comes_and_goes(running: Running) -> None:
    sent = await post(running, uri="https://acme.com/tea", metadata=json.dumps({"house": "east"}), filename="tea.md")
    assert (sent["state"], sent["name"]) == ("committed", "tea.md")
    name = sent["document_id"]
    [listed] = (await running.http.get("/v1/documents")).json()["documents"]
    assert (listed["document_id"], listed["url"], listed["source_type"]) == (name, "https://acme.com/tea", "markdown")
    assert listed["metadata"]["house"] == "east"
    assert (await post(running, filename="tea.md"))["state"] == "unchanged"
    gone = await running.http.delete(f"/v1/documents/{name}")
    assert gone.json() == {"deleted": [name]}
    for method in ("GET", "DELETE"):
        reply = await running.http.request(method, f"/v1/documents/{name}")
        assert (reply.status_code, reply.json()["error"]["code"]) == (404, "NOT_FOUND")


async def test_text_is_read_by_span_in_code_points(running: Running) -> None:
    name = (await post(running))["document_id"]
    bare = (await running.http.get(f"/v1/documents/{name}")).json()
    assert "text" not in bare
    whole = (await running.http.get(f"/v1/documents/{name}", params={"text": "true"})).json()
    at = whole["text"].index("🍵")
    span = {"start": at, "end": at + 1}
    part = (await running.http.get(f"/v1/documents/{name}", params=span)).json()
    assert (part["text"], part["span"]) == ("🍵", span)
    for bad in ({"start": 5, "end": 2}, {"start": "x"}, {"end": 3}, {"start": 0, "end": 10**9}):
        reply = await running.http.get(f"/v1/documents/{name}", params=bad)
        assert reply.status_code == 400, bad


async def test_an_id_may_hold_slashes_and_any_letters(running: Running) -> None:
    name = "manuals/泵 1?.md"
    await post(running, document_id=name)
    reply = await running.http.get("/v1/documents/manuals/%E6%B3%B5%201%3F.md")
    assert reply.json()["document_id"] == name


async def test_a_form_takes_several_files(running: Running) -> None:
    files = [
        ("file", ("one.md", b"# One\n\nThe first text.", "text/markdown")),
        ("file", ("two.txt", "第二个文本。".encode(), "application/octet-stream")),
        ("file", ("empty.md", b"", "text/markdown")),
    ]
    reply = await running.http.post("/v1/documents", files=files, data={"metadata": '{"set": "a"}'})
    assert reply.status_code == 201
    found = {one["name"]: one for one in reply.json()["documents"]}
    assert [found[name]["state"] for name in ("one.md", "two.txt", "empty.md")] == ["committed", "committed", "failed"]
    assert found["empty.md"]["error"]["reason"] == "EMPTY"
    listed = (await running.http.get("/v1/documents", params={"page_size": 1})).json()
    assert len(listed["documents"]) == 1
    more = (await running.http.get("/v1/documents", params={"page_token": listed["next_page_token"]})).json()
    assert (len(more["documents"]), more["next_page_token"]) == (1, "")


async def test_progress_streams(running: Running) -> None:
    files = [("file", (f"{n}.md", f"# {n}\n\nText {n}.".encode(), "text/markdown")) for n in range(3)]
    reply = await running.http.post("/v1/documents", files=files, params={"stream": "true"})
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = sse(reply.text)
    states = [data["state"] for name, data in events if name == "progress" and data["name"] == "1.md"]
    assert states == ["received", "parsed", "chunked", "embedded", "committed"]
    assert events[-1][0] == "done"
    assert {one["state"] for one in events[-1][1]["documents"]} == {"committed"}


async def test_what_cant_be_taken(running: Running) -> None:
    post = running.http.post
    assert (await post("/v1/documents", content=b"")).json()["error"]["field"] == "body"
    assert (await post("/v1/documents", content=b"x" * 1_200_000)).status_code == 413
    assert (await post("/v1/documents", files={"file": ("a", b"x" * 1_200_000)})).status_code == 413
    form = {"content-type": "multipart/form-data; boundary=x"}
    for bad in ({"content-type": "multipart/form-data"}, form):
        reply = await post("/v1/documents", content=b"nonsense", headers=bad)
        assert reply.status_code == 400, reply.text
    assert (await post("/v1/documents", data={"title": "t"}, files={"other": (None, "x")})).status_code == 400
    two = [("file", ("a.md", b"# a")), ("file", ("b.md", b"# b"))]
    reply = await post("/v1/documents", files=two, data={"document_id": "one"})
    assert reply.json()["error"]["field"] == "document_id"
    reply = await post("/v1/documents", content=b"x", params={"metadata": "nonsense"})
    assert reply.json()["error"]["field"] == "metadata"
    reply = await post("/v1/documents", content=b"\x00\x01\x02\x03" * 50, params={"filename": "a.bin"})
    assert reply.status_code == 422
    reply = await post("/v1/documents", content=GUIDE.encode(), headers=MARKDOWN, params={"collection": "nope"})
    assert reply.status_code == 422
    assert reply.json()["documents"][0]["error"]["reason"] == "UNKNOWN_COLLECTION"


async def test_uploads_at_once_are_bounded(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_UPLOADS", 1)
    for content in (b"", b"x" * 1_200_000, b"# A", b"# B"):  # each gives its place back, however it ends
        assert (await running.http.post("/v1/documents", content=content)).status_code in (400, 413, 201)
    begun, hold = noting(monkeypatch), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b"# Slow"
        await hold.wait()

    async with over(running) as http:
        slow = asyncio.create_task(http.post("/v1/documents", content=slowly(), headers=MARKDOWN))
        await asyncio.wait_for(begun.wait(), 5)
        reply = await running.http.post("/v1/documents", content=b"# One more")
        assert (reply.status_code, int(reply.headers["retry-after"]) > 0) == (429, True)
        hold.set()
        assert (await slow).status_code == 201


def noting(patch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set once an upload is being read."""
    begun, reads = asyncio.Event(), upload.received

    def received(*arguments: Any) -> Any:
        begun.set()
        return reads(*arguments)

    patch.setattr(documents, "received", received)
    return begun


@pytest.mark.parametrize("form", [False, True])
async def test_who_hangs_up_in_the_middle_leaves_nothing(
    running: Running, monkeypatch: pytest.MonkeyPatch, form: bool
) -> None:
    monkeypatch.setattr(upload, "IN_MEMORY_BYTES", 1000)
    half = b"# Half a document\n\n" + b"and so on " * 20_000
    kind, length = b"text/markdown", 900_000
    if form:
        kind = b"multipart/form-data; boundary=cut"
        half = b'--cut\r\ncontent-disposition: form-data; name="file"; filename="half.md"\r\n\r\n' + half
    for _ in range(documents.MOST_UPLOADS + 2):  # one place that isn't given back, and the last are refused
        files = temporary_files()
        reader, writer = await asyncio.open_unix_connection(running.settings.http_socket)
        writer.write(b"POST /v1/documents HTTP/1.1\r\nhost: x\r\ncontent-type: " + kind)
        writer.write(b"\r\ncontent-length: %d\r\n\r\n" % length + half)
        await writer.drain()
        await until(lambda files=files: temporary_files() > files)
        writer.transport.abort()
        assert await reader.read() == b""
        await until(lambda files=files: temporary_files() == files)
    assert (await running.http.get("/v1/documents")).json()["documents"] == []
    assert (await post(running))["state"] == "committed"


def temporary_files() -> int:
    """Deleted files that this process, in which the gateway runs, has open."""
    return sum(path.endswith("(deleted)") for path in map(_target, Path("/proc/self/fd").iterdir()))


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


class Hanging:
    """A store that takes all of a document and never ends."""

    def __init__(self) -> None:
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def ingest(self, uploads: Iterable[Upload]) -> AsyncIterator[IngestProgress]:
        try:
            for one in uploads:
                assert one.parts is not None
                assert one.size_bytes == sum([len(part) async for part in one.parts])
            self.begun.set()
            await asyncio.Event().wait()
            yield IngestProgress("0", "never", "committed", 0, 0)
        finally:
            self.ended.set()


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_who_hangs_up_while_it_is_taken_in_ends_that(monkeypatch: pytest.MonkeyPatch, stream: str) -> None:
    monkeypatch.setattr(upload, "IN_MEMORY_BYTES", 1000)
    store, files = Hanging(), temporary_files()
    async with gateway(neighbours=Neighbours(documents=store)) as running:
        sent = running.http.post("/v1/documents", content=b"# Long" * 5000, params={"stream": stream})
        sending = asyncio.create_task(sent)
        await asyncio.wait_for(store.begun.wait(), 5)
        assert temporary_files() > files
        sending.cancel()
        await asyncio.wait_for(store.ended.wait(), 5)
        await until(lambda: temporary_files() == files)


async def test_who_sends_no_more_gives_the_place_up(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "STALL_S", 0.1)
    hold = asyncio.Event()

    async def silent() -> AsyncIterator[bytes]:
        yield b"# Slow"
        await hold.wait()

    async with over(running) as http, asyncio.timeout(10):
        sent = asyncio.create_task(http.post("/v1/documents", content=silent(), headers=MARKDOWN))
        while not sent.done():
            await asyncio.wait([sent], timeout=0.3)
            hold.set()  # the client reads the answer once it has sent all
        reply = sent.result()
    assert (reply.status_code, reply.json()["error"]["code"]) == (408, "BODY_STALLED")


async def test_who_sends_too_much_for_too_long_is_not_waited_for(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload, "LINGER_S", 0.1)
    reader, writer = await asyncio.open_unix_connection(running.settings.http_socket)
    writer.write(b"POST /v1/documents HTTP/1.1\r\nhost: x\r\ncontent-length: 2000000\r\n\r\nand then nothing")
    reply = await asyncio.wait_for(reader.readuntil(b"}"), 5)
    assert reply.startswith(b"HTTP/1.1 413")
    assert b"BODY_TOO_LARGE" in reply
    writer.close()


async def test_large_documents_come_whole_and_leave_no_file(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "IN_MEMORY_BYTES", 1000)
    text = "# Large\n\n" + "A line of a long document, 一行 🙂.\n" * 9_000
    before = temporary_files()
    name = (await post(running, text, filename="large.md"))["document_id"]
    files = {"file": ("same.md", text.encode(), "text/markdown")}
    [same] = (await running.http.post("/v1/documents", files=files)).json()["documents"]
    assert (same["document_id"], same["state"]) == (name, "unchanged")
    found = (await running.http.get(f"/v1/documents/{name}")).json()
    assert found["size_bytes"] == len(text.encode()) > upload.PART_BYTES
    assert temporary_files() == before


async def test_collections(running: Running) -> None:
    http = running.http
    made = await http.post("/v1/collections", json={"name": "papers"})
    assert (made.status_code, made.json()["name"], made.json()["documents"]) == (201, "papers", 0)
    await post(running, collection="papers")
    listed = (await http.get("/v1/collections")).json()["collections"]
    assert [(one["name"], one["documents"]) for one in listed] == [("default", 0), ("papers", 1)]
    assert (await http.get("/v1/collections/papers")).json()["documents"] == 1
    again = await http.post("/v1/collections", json={"name": "papers"})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "ALREADY_EXISTS")
    for bad in ({}, {"name": "No Spaces"}, {"name": 7}):
        reply = await http.post("/v1/collections", json=bad)
        assert (reply.status_code, reply.json()["error"]["field"]) == (400, "name")
    assert (await http.delete("/v1/collections/papers")).status_code == 204
    assert (await http.get("/v1/collections/papers")).status_code == 404


async def test_embeddings_with_openais_client(running: Running) -> None:
    texts = ["green tea", "绿茶", "🍵"]
    client = openai.AsyncOpenAI(api_key="k", base_url="http://gateway/v1", http_client=over(running), max_retries=0)
    async with client:
        plain = await client.embeddings.create(model="citemesh", input=texts, encoding_format="float")
        packed = await client.embeddings.create(model=plain.model, input=texts)  # base64, which it unpacks
        assert [one.index for one in plain.data] == [0, 1, 2]
        for one, other in zip(plain.data, packed.data, strict=True):
            assert one.embedding == pytest.approx(other.embedding, abs=1e-6)
            assert sum(value * value for value in one.embedding) == pytest.approx(1, abs=1e-3)
        assert plain.usage.total_tokens == plain.usage.prompt_tokens > 0
        own = len(plain.data[0].embedding)
        for bad, param in (
            ({"input": []}, "input"),
            ({"input": ["a", " "]}, "input[1]"),
            ({"input": [[1, 2]]}, "input[0]"),
            ({"input": "a", "model": "text-embedding-3-small"}, "model"),
            ({"input": "a", "dimensions": own + 1}, "dimensions"),
            ({"input": "a", "encoding_format": "int8"}, "encoding_format"),
        ):
            with pytest.raises(openai.BadRequestError) as caught:
                await client.embeddings.create(**{"model": "citemesh", **bad})
            assert caught.value.param == param


async def test_embeddings_of_more_texts_than_one_call_takes(running: Running) -> None:
    body = {"input": [f"text {n}" for n in range(300)], "encoding_format": "base64"}
    data = (await running.http.post("/v1/embeddings", json=body)).json()["data"]
    assert [one["index"] for one in data] == list(range(300))
    raw = base64.b64decode(data[299]["embedding"])
    single = await running.http.post("/v1/embeddings", json={"input": "text 299"})
    [vector] = [one["embedding"] for one in single.json()["data"]]
    assert struct.unpack(f"<{len(vector)}f", raw) == pytest.approx(vector, abs=1e-5)


async def test_embeddings_with_ollamas_client(running: Running) -> None:
    transport = transport_to(running.settings)
    made = await ollama.AsyncClient("http://gateway", transport=transport).embed("citemesh", ["green tea", "绿茶"])
    assert len(made.embeddings) == 2
    assert made.total_duration is not None
    assert made.total_duration > 0
