"""HTTP through the real sidecar: large documents, callers that hang up in their midst, pages of other origins."""

import asyncio
import base64
import os
import random
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from gateway.rest.native.documents import MOST_UPLOADS
from tests.mesh.conftest import ORIGIN
from tests.support.running import RunningMesh

MIB = 1 << 20
MOST_MIB = 64
"""Of an upload and of a document, where no setting says otherwise."""
PART = 64 * 1024
HELD_MIB = 24
"""What both programs on a document's way may grow by: windows and buffers of 1 MiB each, and the heap's slack."""
WAIT_S = 30


def saved_page(size: int) -> bytes:
    """A web page of so many bytes as a browser saves it, with its picture inside."""
    head, tail = b"<h1>Winch</h1><p>It lifts nine tonnes.</p><img src='data:image/png;base64,", b"'>"
    picture = base64.b64encode(random.Random(size).randbytes((size - len(head) - len(tail)) * 3 // 4 - 3))
    return head + picture + b"A" * (size - len(head) - len(tail) - len(picture)) + tail


@pytest.fixture
async def http(fake_mesh: RunningMesh) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": f"Bearer {fake_mesh.stack.key}", "content-type": "text/html"}
    base = f"http://127.0.0.1:{fake_mesh.options.port_base}"
    async with httpx.AsyncClient(base_url=base, headers=headers, timeout=120) as client:
        yield client


async def in_parts(data: bytes, most: int | None = None) -> AsyncIterator[bytes]:
    """Its bytes, without saying before how many there are."""
    for start in range(0, len(data) if most is None else most, PART):
        yield data[start : start + PART]


async def test_forty_megabytes_pass_and_are_not_held(fake_mesh: RunningMesh, http: httpx.AsyncClient) -> None:
    page = saved_page(40_000_000)
    await http.post("/v1/documents", content=saved_page(2 * MIB))  # what a first upload loads isn't the document's
    before = {program: peak_mib(fake_mesh, program) for program in ("gateway", "gateway-sidecar")}
    reply = await http.post("/v1/documents", content=page, params={"filename": "winch.html"})
    assert reply.status_code == 201, reply.text
    [sent] = reply.json()["documents"]
    for program, mib in before.items():
        assert peak_mib(fake_mesh, program) - mib < HELD_MIB, program
    again = await http.post("/v1/documents", content=in_parts(page), params={"filename": "winch.html"})
    assert again.json()["documents"][0]["state"] == "unchanged"
    path = f"/v1/documents/{sent['document_id']}"
    found = (await http.get(path, params={"text": "true"})).json()
    assert (found["size_bytes"], "nine tonnes" in found["text"]) == (len(page), True)
    assert (await http.delete(path)).status_code == 200


def peak_mib(mesh: RunningMesh, program: str) -> float:
    """The most memory that a program has had."""
    status = Path(f"/proc/{mesh.stack.pids()[program]}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


async def test_a_document_of_the_most_bytes_is_taken_and_one_more_refused(http: httpx.AsyncClient) -> None:
    most = MOST_MIB * MIB
    page = saved_page(most)
    reply = await http.post("/v1/documents", content=page)
    assert reply.status_code == 201, reply.text
    await http.delete(f"/v1/documents/{reply.json()['documents'][0]['document_id']}")
    form = {"content-type": "multipart/form-data; boundary=cut"}
    for told in (
        await http.post("/v1/documents", content=page + b"!"),  # refused by what it announces
        await http.post("/v1/documents", content=in_parts(page + b"!")),
        await http.post("/v1/documents", content=page + b"!" * MIB, headers=form),
    ):
        assert told.status_code == 413, told.text
        error = told.json()["error"]
        assert (error["code"], error["field"]) == ("BODY_TOO_LARGE", "body")
        assert str(most) in error["message"]


async def test_other_bodies_stay_bounded(http: httpx.AsyncClient) -> None:
    reply = await http.post("/v1/query", content=b'{"query": "' + b"x" * 3 * MIB + b'"}')
    assert (reply.status_code, reply.json()["error"]["code"]) == (413, "BODY_TOO_LARGE")
    reply = await http.post("/v1/query", content=b"x" * 17 * MIB)  # the sidecar's own bound
    assert (reply.status_code, reply.json()["error"]["code"]) == (413, "invalid_argument")


async def test_who_hangs_up_in_the_middle_leaves_nothing(fake_mesh: RunningMesh, http: httpx.AsyncClient) -> None:
    listed = (await http.get("/v1/documents")).json()
    port, page = fake_mesh.options.port_base, saved_page(20_000_000)
    head = f"POST /v1/documents HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {fake_mesh.stack.key}\r\n"
    head += f"content-type: text/html\r\ncontent-length: {len(page)}\r\n\r\n"
    files = temporary_files(fake_mesh)
    for _ in range(MOST_UPLOADS + 2):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head.encode() + page[: len(page) // 2])
        await asyncio.wait_for(writer.drain(), WAIT_S)
        await until(lambda: temporary_files(fake_mesh) > files, "the upload's file")
        writer.transport.abort()
        await until(lambda: temporary_files(fake_mesh) == files, "the end of the upload's file")
    assert (await http.get("/v1/documents")).json() == listed
    sent = await http.post("/v1/documents", content=page)
    assert sent.status_code == 201, sent.text
    await http.delete(f"/v1/documents/{sent.json()['documents'][0]['document_id']}")


def temporary_files(mesh: RunningMesh) -> int:
    """Files without a name that the gateway has open."""
    folder = Path(f"/proc/{mesh.stack.pids()['gateway']}/fd")
    links = []
    for link in folder.iterdir():
        try:
            links.append(os.readlink(link))
        except OSError:
            continue  # closed since
    return sum(link.endswith("(deleted)") for link in links)


async def until(condition: object, what: str) -> None:
    """Waits for a condition."""
    assert callable(condition)
    try:
        async with asyncio.timeout(WAIT_S):
            while not condition():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"{what} did not come within {WAIT_S} s") from None


PREFLIGHT = {
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type,x-stainless-lang",
}


@pytest.fixture
async def browser(fake_mesh: RunningMesh) -> AsyncIterator[httpx.AsyncClient]:
    """What a page can send: no key but the one that its script sets."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{fake_mesh.options.port_base}", timeout=60) as client:
        yield client


async def test_a_page_of_a_named_origin_may_ask(fake_mesh: RunningMesh, browser: httpx.AsyncClient) -> None:
    for path in ("/v1/query", "/v1/documents", "/chat/completions"):
        asked = await browser.options(path, headers=PREFLIGHT | {"origin": ORIGIN})
        assert asked.status_code == 200
        assert asked.headers["access-control-allow-origin"] == ORIGIN
        assert "POST" in asked.headers["access-control-allow-methods"]
        allowed = asked.headers["access-control-allow-headers"].lower().split(", ")
        assert {"authorization", "*"} <= set(allowed), "the wildcard alone leaves authorization out"
        assert "access-control-allow-credentials" not in asked.headers
    key = {"authorization": f"Bearer {fake_mesh.stack.key}", "origin": ORIGIN}
    reply = await browser.post("/v1/query", json={"query": "What lifts nine tonnes?"}, headers=key)
    assert (reply.status_code, reply.headers.get_list("access-control-allow-origin")) == (200, [ORIGIN])


async def test_a_page_can_read_why_it_was_refused(browser: httpx.AsyncClient) -> None:
    no_key = await browser.post("/v1/query", json={"query": "x"}, headers={"origin": ORIGIN})
    assert (no_key.status_code, no_key.headers.get("access-control-allow-origin")) == (401, ORIGIN)


async def test_pages_of_others_may_not(fake_mesh: RunningMesh, browser: httpx.AsyncClient) -> None:
    for origin in ("https://evil.example", "http://app.acme.com", f"{ORIGIN}.evil.example", "null"):
        asked = await browser.options("/v1/query", headers=PREFLIGHT | {"origin": origin})
        assert "access-control-allow-origin" not in asked.headers, origin
    plain = await browser.options("/v1/query", headers=PREFLIGHT)
    assert plain.status_code == 401, "without an origin it is no preflight, and needs a key as all else does"


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer cm_00000000_x"}])
async def test_a_large_upload_that_is_refused_gets_to_read_why(fake_mesh: RunningMesh, headers: dict[str, str]) -> None:
    """A sidecar refuses by the headers alone, while a program still sends; one that then reads has its answer."""
    address = f"http://127.0.0.1:{fake_mesh.options.port_base}/v1/documents"
    reply = await asyncio.to_thread(httpx.post, address, content=b"x" * (40 * MIB), headers=headers, timeout=WAIT_S)
    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "unauthenticated")
