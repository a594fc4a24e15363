"""Documents on their way in: what is embedded and stored together, and what the sender is told."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from services.retrieval.embedding.encoder import ChunkTokens
from services.retrieval.embedding.fake import FakeEncoder
from services.retrieval.engines.fake import FakeRetrievalEngine
from services.retrieval.ingestion import enrichment
from services.retrieval.ingestion.budget import Budget
from services.retrieval.ingestion.stream import IngestionStream
from services.retrieval.ingestion.upload import End, Header, Part
from services.retrieval.types.chunk import Vector
from services.retrieval.types.document import NewDocument
from tests.contract.retrieval.retrieval_engines import opened

from .ingesting import Ingest


async def test_what_the_model_cannot_read_is_said(tmp_path: Path) -> None:
    async with opened("durable", tmp_path) as engine:
        ingest = Ingest(engine, unreadable="绿茶要用水冲泡")
        await ingest.queue.start()
        one = await ingest.take("绿茶要用水冲泡".encode(), "text/plain", "one")
        assert one.state == "committed"
        assert one.notices[0].startswith("1 of 1 chunks can't be read by the embedding model")
        table = await ingest.take("id,text\n1,绿茶要用水\n2,Green tea\n".encode())
        assert table.notices[0].startswith("1 of 2 chunks")
        assert (await ingest.take(b"Green tea", "text/plain", "two")).notices == ()
        assert (await engine.collection("default")).unreadable_chunks == 2
        await ingest.queue.stop()


async def test_a_books_worth_of_chunks_has_no_token_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enrichment, "_MOST_TOKEN_VECTORS", 12)
    monkeypatch.setattr(enrichment, "_PORTION", 5)
    engine = FakeRetrievalEngine()
    kept: dict[str, list[bool]] = {}

    async def put_many(documents: Sequence[NewDocument]) -> int:
        for document in documents:
            kept[document.info.document_id] = [bool(chunk.token_vectors.packed) for chunk in document.chunks]
        return await FakeRetrievalEngine.put_many(engine, documents)

    monkeypatch.setattr(engine, "put_many", put_many)
    ingest = Ingest(engine)
    await ingest.queue.start()
    await engine.create("default", ingest.queue.encoder.embedding)
    for name, sentences in (("short", 60), ("long", 200)):
        text = " ".join(f"Sentence {n} of {name} words." for n in range(sentences))
        assert (await ingest.take(text.encode(), "text/plain", name)).state == "committed"
    assert 5 < len(kept["short"]) <= 12 < len(kept["long"])
    assert all(kept["short"])
    assert not any(kept["long"])
    await ingest.queue.stop()


async def test_small_documents_of_one_stream_share_commits() -> None:
    """What is ready while a commit is made goes into the next, and each is told once its own is made."""

    class Held(FakeRetrievalEngine):
        def __init__(self) -> None:
            super().__init__()
            self.go = asyncio.Event()
            self.groups: list[list[str]] = []

        async def put_many(self, documents: Sequence[NewDocument]) -> int:
            self.groups.append([it.info.document_id for it in documents])
            await self.go.wait()
            return await super().put_many(documents)

    engine = Held()
    ingest = Ingest(engine)
    await ingest.queue.start()
    await engine.create("default", ingest.queue.encoder.embedding)
    intake = IngestionStream(ingest.pipeline, Budget(16, 1 << 20), 1 << 16, 10)

    states: list[str] = []
    async for report in intake.run(stream(6)):
        assert report.state != "committed" or engine.go.is_set()
        states.append(report.state)
        if states.count("embedded") == 6:
            engine.go.set()
    assert states.count("committed") == 6
    assert [len(group) for group in engine.groups] == [1, 5]
    assert set(await ingest.stored()) == {f"d{n}" for n in range(6)}
    await ingest.queue.stop()


class Slow(FakeEncoder):
    """Its first two batches run until both have begun and so many passages are in a batch or wait for one."""

    def __init__(self, waiting: Callable[[], int], all_of_them: int) -> None:
        super().__init__()
        self._waiting, self._all = waiting, all_of_them
        self._both = threading.Barrier(2)
        self.batches: list[int] = []

    def embed_tokens(self, batch: Sequence[ChunkTokens]) -> tuple[Vector, list[bytes]]:
        self.batches.append(len(batch))
        if len(self.batches) <= 2:
            self._both.wait(10)
            until = time.monotonic() + 10
            while self._waiting() + sum(self.batches) < self._all and time.monotonic() < until:
                time.sleep(0.005)
        return super().embed_tokens(batch)


async def test_small_documents_of_one_stream_are_embedded_together_and_by_all_workers() -> None:
    engine = FakeRetrievalEngine()
    encoder = Slow(lambda: ingest.queue._passages.waiting, 12)
    ingest = Ingest(engine, encoder=encoder, workers=2)
    await ingest.queue.start()
    await engine.create("default", encoder.embedding)
    intake = IngestionStream(ingest.pipeline, Budget(16, 1 << 20), 1 << 16, 10)
    states = [report.state async for report in intake.run(stream(12))]
    assert states.count("committed") == 12
    assert sum(encoder.batches) == 12
    assert len(encoder.batches) in (2, 3)
    await ingest.queue.stop()


async def stream(count: int) -> AsyncIterator[Part]:
    for n in range(count):
        yield Header(f"c{n}", "default", f"d{n}", media_type="text/plain")
        yield f"Small document number {n}.".encode()
        yield End()
