"""What the retrieval service promises of ingestion, over a real socket: on the fake engine and on the durable one."""

import asyncio
import io
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import grpc
import pypdfium2
import pytest

from citemesh.api.retrieval.v1 import document_service_pb2 as pb
from citemesh.api.retrieval.v1.document_service_pb2_grpc import DocumentServiceStub
from citemesh.client.types import Span, Upload
from citemesh.errors import (
    InvalidInput,
)
from tests.contract.retrieval.retrieval_service import (
    GUIDE,
    STATES,
    Service,
    note,
    service,
    serving,
    settings_for,
    until,
    with_real,
)

__all__ = ["service"]


@with_real
async def test_a_document_goes_in_and_is_found(service: Service) -> None:
    reports = (await service.ingest(note("guide.md", GUIDE, uri="https://tea.example/guide.md")))["guide.md"]
    assert [it.state for it in reports] == STATES
    document, text = await service.mesh.documents.get(reports[-1].document_id)
    assert document.title == "Tea house guide"
    assert document.source_type == "markdown"
    assert document.metadata["keywords"] == "tea, house"
    assert text.startswith("\n# Brewing")
    for query in ("what temperature for green tea", "绿茶用多少度的水"):
        best = (await service.mesh.retrieval.search(query, with_token_ids=True))[0]
        assert best.document_id == document.document_id
        assert text[best.location.span.start : best.location.span.end] == best.text
        assert best.location.headings[0] == "Brewing"
        assert best.uri == "https://tea.example/guide.md"
        assert best.token_ids == tuple(len(word) for word in best.text.split())
        assert best.tokenizer_digest == service.tokenizer.digest
    part = await service.mesh.documents.get(document.document_id, span=Span(1, 10))
    assert part[1] == text[1:10]


@with_real
async def test_the_same_bytes_are_unchanged_and_new_bytes_replace(service: Service) -> None:
    first = (await service.last(note("a", "One text about apples.")))["a"]
    again = (await service.last(note("b", "One text about apples.")))["b"]
    assert (again.state, again.document_id) == ("unchanged", first.document_id)
    assert (await service.mesh.collections.get("default")).documents == 1
    await service.last(note("c", "Old words about pears.", document_id="mine"))
    assert (await service.last(note("d", "Old words about pears.", document_id="mine")))["d"].state == "unchanged"
    assert (await service.last(note("e", "New words about plums.", document_id="mine")))["e"].state == "committed"
    assert (await service.mesh.documents.get("mine"))[1] == "New words about plums."
    assert not await service.mesh.retrieval.search("pears", mode="lexical")
    assert (await service.mesh.collections.get("default")).documents == 2


async def test_a_document_without_a_title_is_embedded_as_its_text_alone(service: Service) -> None:
    bare, named = "Green tea wants water of eighty degrees.", "Coffee likes it hotter than that."
    await service.ingest(note("bare", bare), note("named", named, title="Marigold hemlock"))
    (first, *_), (second, *_) = [await service.mesh.retrieval.search(text, mode="dense") for text in (bare, named)]
    assert first.title == first.document_id  # a hash, which stands for a title to be shown and is not read
    assert first.dense == pytest.approx(1, abs=1e-5)
    assert (second.title, (second.dense or 1) < 0.95) == ("Marigold hemlock", True)


def blank_pdf() -> bytes:
    document = pypdfium2.PdfDocument.new()
    document.new_page(200, 200)
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()


PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
FAULTS = [
    (Upload("empty", b""), "EMPTY"),
    (Upload("space", b" \n\t \n"), "NO_TEXT"),
    (Upload("comment", b"<!-- nothing -->", media_type="text/markdown"), "NO_TEXT"),
    (Upload("blank-pdf", blank_pdf()), "NO_TEXT"),
    (Upload("broken-pdf", b"%PDF-1.7 and then nothing"), "BROKEN"),
    (Upload("png", PNG), "UNSUPPORTED_TYPE"),
    (Upload("png-as-text", PNG, media_type="text/plain"), "TYPE_MISMATCH"),
    (Upload("pdf-as-html", b"%PDF-1.4 x", media_type="text/html"), "TYPE_MISMATCH"),
    (Upload("text-as-pdf", b"hello", media_type="application/pdf"), "TYPE_MISMATCH"),
    (Upload("word", b"hello", media_type="application/msword"), "UNSUPPORTED_TYPE"),
    (Upload("latin1", "Gr\u00fc\u00dfe".encode("latin-1")), "INVALID_ENCODING"),
    (Upload("charset", b"hello", media_type="text/plain; charset=klingon"), "INVALID_ENCODING"),
    (Upload("nowhere", b"hello", collection="nowhere"), "UNKNOWN_COLLECTION"),
    (Upload("metadata", b"hello", metadata={"k": "v" * 5000}), "INVALID_HEADER"),
    (Upload("entries", b"hello", metadata={str(n): "v" for n in range(65)}), "INVALID_HEADER"),
    (Upload("id", b"hello", document_id="x" * 600), "INVALID_HEADER"),
]


@with_real
async def test_each_bad_document_has_its_own_error_and_the_rest_goes_on(service: Service) -> None:
    good = [note(f"good{n}", f"Good document {n} speaks of topic{n}.") for n in range(3)]
    bad = [upload for upload, _ in FAULTS]
    last = await service.last(good[0], *bad[:8], good[1], *bad[8:], good[2])
    assert {name: it.error_reason for name, it in last.items() if it.state == "failed"} == {
        upload.correlation_id: reason for upload, reason in FAULTS
    }
    assert all(it.error_message and it.error_remedy for it in last.values() if it.state == "failed")
    assert "byte 2" in last["latin1"].error_message
    assert "default" in last["nowhere"].error_remedy
    assert [last[it.correlation_id].state for it in good] == ["committed"] * 3
    assert (await service.mesh.collections.get("default")).documents == 3


@pytest.mark.parametrize("mebibytes", [1, pytest.param(10, marks=pytest.mark.real)])
@pytest.mark.slow
async def test_a_large_document_is_taken_and_one_over_the_limit_is_not(tmp_path: Path, mebibytes: int) -> None:
    settings = settings_for(
        "durable", tmp_path, most_document_mib=mebibytes + 1, documents_mib=mebibytes + 5, chunk_tokens=4096
    )
    async with serving(settings) as service:
        large = (("A sentence that says little, again and again, " * 10 + "and ends.\n\n") * 30_000)[: mebibytes << 20]
        over = bytes(mebibytes * 5 << 20)
        last = await service.last(note("large", large), Upload("over", over), note("small", "A small one."))
        assert last["over"].error_reason == "TOO_LARGE"
        assert last["large"].state == last["small"].state == "committed"
        assert last["large"].characters == len(large)
        with pytest.raises(InvalidInput, match="span"):
            await service.mesh.documents.get(last["large"].document_id, span=Span(0, 99 << 20))
        text = (await service.mesh.documents.get(last["large"].document_id))[1]
        assert text == large


@pytest.mark.slow
async def test_a_text_over_a_messages_limit_is_read_by_spans(tmp_path: Path) -> None:
    settings = settings_for("fake", tmp_path, max_message_mib=1, most_document_mib=4)
    async with serving(settings) as service:
        long = "Words and words and so on and on. " * 40_000
        document = (await service.last(note("long", long)))["long"].document_id
        with pytest.raises(InvalidInput, match="span"):
            await service.mesh.documents.get(document)
        assert (await service.mesh.documents.get(document, span=Span(1000, 2000)))[1] == long[1000:2000]


async def raw(service: Service, parts: Iterable[pb.IngestRequest]) -> list[pb.IngestResponse]:
    return await all_of(DocumentServiceStub(service.channel).Ingest(iter(parts)))


async def all_of(call: Any) -> list[pb.IngestResponse]:
    return [response async for response in call]


def header(name: str, **more: Any) -> pb.IngestRequest:
    return pb.IngestRequest(header=pb.DocumentHeader(correlation_id=name, **more))


END = pb.IngestRequest(end=pb.DocumentEnd())


@pytest.mark.parametrize(
    "parts",
    [
        [pb.IngestRequest(data=b"no header")],
        [END],
        [pb.IngestRequest()],
        [header("a"), header("b")],
        [header("a"), pb.IngestRequest(data=bytes((1 << 20) + 1)), END],
    ],
    ids=["data first", "end first", "nothing", "two headers", "large part"],
)
async def test_a_stream_out_of_order_is_refused(service: Service, parts: list[pb.IngestRequest]) -> None:
    good = [header("good"), pb.IngestRequest(data=b"A good document."), END]
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await raw(service, [*good, *parts])
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert (await service.mesh.collections.get("default")).documents == 1


async def test_sizes_marks_and_ends_are_checked(service: Service) -> None:
    data = pb.IngestRequest(data=b"Twelve bytes")
    parts = [
        *(header("short", size_bytes=13), data, END),
        *(header("long", size_bytes=11), data, data, END),
        *(header("", size_bytes=12), data, END),
        *(header("fits", size_bytes=12), data, END),
        *(header("fits", size_bytes=12), data, END),
        *(header("unfinished"), data),
    ]
    reports = [(it.correlation_id, it.error.reason) for it in await raw(service, parts) if it.error.reason]
    assert sorted(reports) == sorted(
        [
            ("short", "INVALID_HEADER"),
            ("long", "INVALID_HEADER"),
            ("", "INVALID_HEADER"),
            ("fits", "INVALID_HEADER"),
            ("unfinished", "BROKEN"),
        ]
    )
    assert (await service.mesh.collections.get("default")).documents == 1


async def test_a_cancelled_ingest_keeps_what_was_committed(service: Service) -> None:
    async def endless() -> AsyncIterator[Upload]:
        n = 0
        while True:
            yield note(f"n{n}", f"Document number {n} speaks of topic{n}. " * 20, document_id=f"n{n:04}")
            n += 1

    committed: list[str] = []
    async with aclosing(service.mesh.documents.ingest(endless())) as reports:  # type: ignore[type-var]  # a generator
        async for report in reports:
            if report.state == "committed":
                committed.append(report.document_id)
            if len(committed) == 5:
                break

    async def settled() -> bool:
        before = (await service.mesh.collections.get("default")).documents
        await asyncio.sleep(0.2)
        return before == (await service.mesh.collections.get("default")).documents

    await until(settled)
    stored, _ = await service.mesh.documents.list(page_size=1000)
    assert set(committed) <= {it.document_id for it in stored}
    for document in stored:
        assert document.chunks > 0
        found = await service.mesh.retrieval.search("document", document_ids=[document.document_id], top_k=1000)
        assert len(found) == document.chunks
    assert (await service.last(note("after", "After all that.")))["after"].state == "committed"


async def test_streams_share_the_budget(tmp_path: Path) -> None:
    settings = settings_for("fake", tmp_path, documents_at_once=2, documents_mib=1, most_document_mib=1)
    async with serving(settings) as service:
        streams = [
            service.last(*(note(f"s{s}-{n}", f"Stream {s} sends {n}. " * 50) for n in range(20))) for s in range(5)
        ]
        done = await asyncio.gather(*streams)
        assert all(it.state == "committed" for last in done for it in last.values())
        assert (await service.mesh.collections.get("default")).documents == 100


async def test_an_open_document_may_not_wait_for_ever(tmp_path: Path) -> None:
    async with serving(settings_for("fake", tmp_path, idle_s=0.2)) as service:

        async def stalled() -> AsyncIterator[pb.IngestRequest]:
            yield header("a")
            await asyncio.Event().wait()

        call = DocumentServiceStub(service.channel).Ingest(stalled())
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await asyncio.wait_for(all_of(call), 5)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_token_ids_are_filled_in_when_the_tokenizer_is_back(service: Service) -> None:
    service.tokenizer.down = True
    assert (await service.last(note("a", "About apples and pears.")))["a"].state == "committed"
    found = (await service.mesh.retrieval.search("apples", with_token_ids=True))[0]
    assert (found.token_ids, found.tokenizer_digest) == ((), "")
    service.tokenizer.down = False

    async def filled_by(digest: str) -> bool:
        found = await service.mesh.retrieval.search("apples", with_token_ids=True)
        return found[0].tokenizer_digest == digest and bool(found[0].token_ids)

    await until(lambda: filled_by("a" * 64))
    service.tokenizer.digest = "b" * 64
    await until(lambda: filled_by("b" * 64))
