"""Bad input gets an error that says what is wrong and what to do, and nothing is lost."""

import io
from collections.abc import AsyncIterator

import httpx
import pypdf
import pytest

from citemesh.client import Mesh
from citemesh.client.types import Upload
from citemesh.errors import CiteMeshError, InvalidInput, NotFound, PermissionDenied, Unauthenticated
from tests.support.asking import ask, ingest
from tests.support.running import RunningMesh


@pytest.fixture
async def client(mesh: RunningMesh) -> AsyncIterator[Mesh]:
    async with mesh.client() as caller:
        yield caller


def pdf(password: str = "") -> bytes:
    writer = pypdf.PdfWriter()
    writer.add_blank_page(200, 200)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.mark.parametrize("question", ["", "   \n\t ", "\u3000"])
async def test_an_empty_question(client: Mesh, question: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await ask(client, question)
    assert caught.value.field == "question"
    assert caught.value.remedy


async def test_a_question_of_a_megabyte(client: Mesh) -> None:
    with pytest.raises(InvalidInput) as caught:
        await ask(client, "长" * (1024 * 1024 // 3))
    assert caught.value.field == "question"
    assert "32768" in str(caught.value) or "32,768" in str(caught.value)


async def test_an_unknown_collection(client: Mesh) -> None:
    with pytest.raises(NotFound) as caught:
        await ask(client, "Where?", collection="nowhere")
    assert caught.value.name == "nowhere"


async def test_a_thread_that_the_caller_does_not_have_is_not_found(client: Mesh) -> None:
    with pytest.raises(NotFound):
        await ask(client, "Where?", thread_id="t1")


BAD_FILES = {
    "no-text.pdf": (pdf(), "NO_TEXT"),
    "locked.pdf": (pdf("secret"), "ENCRYPTED"),
    "broken.pdf": (pdf()[:120], "BROKEN"),
    "latin.txt": ("Größe".encode("latin-1") + b"\xff\xfe\xfd caf\xe9", "INVALID_ENCODING"),
    "zero.md": (b"", "EMPTY"),
    "blank.txt": (b" \n\t\n", "NO_TEXT"),
}


async def test_bad_files_fail_by_name_and_the_rest_goes_on(client: Mesh) -> None:
    uploads = [Upload(name, data, uri=name) for name, (data, _) in BAD_FILES.items()]
    uploads.insert(3, Upload("good.md", "# Good\n\nA good page among bad ones: 好的一页 🙂.\n".encode(), uri="good.md"))
    last = await ingest(client, uploads)
    assert last["good.md"].state in {"committed", "unchanged"}
    for name, (_, reason) in BAD_FILES.items():
        assert last[name].state == "failed", name
        assert last[name].error_reason == reason, (name, last[name])
        assert last[name].error_message
        assert last[name].error_remedy
    _, text = await client.documents.get(last["good.md"].document_id)
    assert "好的一页 🙂" in text


async def test_a_document_of_ten_mebibytes_passes_every_limit(client: Mesh) -> None:
    line = "The lighthouse keeper of Marrowmere wrote down the weather again. "
    await client.collections.create("large")
    # Few chunks, many bytes: what is tried here is the way, not the embedding.
    text = "# Log\n\nThe needle is under the ninth stair.\n\n<!-- " + line * (10 * 1024 * 1024 // len(line)) + " -->\n"
    html = f"<html><body><p>The needle is under the ninth stair.</p>{text[40:]}</body></html>"
    last = await ingest(client, [Upload("large", html.encode(), uri="log.html", collection="large")])
    assert last["large"].state == "committed", last
    document, _ = await client.documents.get(last["large"].document_id, "large", without_text=True)
    assert document.size_bytes > 10 * 1024 * 1024


async def test_no_key_and_a_wrong_key(mesh: RunningMesh) -> None:
    async with mesh.client(key="") as nobody:
        with pytest.raises(Unauthenticated):
            await ask(nobody, "Who am I?")
    wrong = mesh.stack.key[:-1] + ("A" if mesh.stack.key[-1] != "A" else "B")
    async with mesh.client(key=wrong) as liar:
        with pytest.raises(Unauthenticated):
            await ask(liar, "Who am I?")
        with pytest.raises(Unauthenticated):
            await ingest(liar, [Upload("x", b"x")])


async def test_a_persons_key_does_not_open_inner_services(client: Mesh) -> None:
    with pytest.raises(PermissionDenied):
        await client.generation.list()
    with pytest.raises(CiteMeshError):
        await client.tokenizer.encode(["x"])


async def test_rest_refuses_in_its_own_way(mesh: RunningMesh) -> None:
    headers = {"authorization": f"Bearer {mesh.stack.key}"}
    async with httpx.AsyncClient(base_url=mesh.stack.rest_url, timeout=30) as http:
        refused = await http.post("/v1/query", json={"query": "x"})
        assert refused.status_code == 401
        assert "key" in refused.json()["error"]["message"].lower()
        empty = await http.post("/v1/query", json={"query": " "}, headers=headers)
        assert empty.status_code == 400
        assert "query" in empty.text
        unknown = await http.post(
            "/v1/chat/completions",
            json={"model": "gpt-nowhere", "messages": [{"role": "user", "content": "hi"}]},
            headers=headers,
        )
        assert unknown.status_code == 404
        assert "gpt-nowhere" in unknown.json()["error"]["message"]
        garbage = await http.post("/v1/query", content=b"{not json", headers=headers)
        assert garbage.status_code == 400
