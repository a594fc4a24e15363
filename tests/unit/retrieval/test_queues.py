"""What waits: the embedding queue, the budget of an ingest, the filling in of token ids, the reader process."""

import asyncio
import os
import signal
import threading
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from citemesh.errors import Overloaded, Unavailable
from services.retrieval.embedding.encoder import Ids
from services.retrieval.embedding.fake import FakeEncoder
from services.retrieval.embedding.queue import EmbeddingQueue
from services.retrieval.engine import Chunk, Place, TokenIds, Vector
from services.retrieval.ingest.budget import Budget
from services.retrieval.ingest.parsed import IngestFault
from services.retrieval.ingest.reader import ProcessReader
from services.retrieval.tokens import TokenFiller


class GatedEncoder(FakeEncoder):
    """Waits for a gate before each batch, and notes what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Semaphore(0)
        self.batches: list[int] = []
        self.fails = False

    def embed(self, batch: Sequence[Ids]) -> Vector:
        """One batch, when the gate lets it through."""
        assert self.gate.acquire(timeout=10)
        self.batches.append(len(batch))
        if self.fails:
            raise RuntimeError("no memory")
        return super().embed(batch)


async def started(encoder: FakeEncoder, **changes: int) -> EmbeddingQueue:
    queue = EmbeddingQueue(lambda: encoder, **changes)
    if isinstance(encoder, GatedEncoder):
        encoder.gate.release()
    await queue.start()
    return queue


async def until(condition: object, limit_s: float = 10.0) -> None:
    async with asyncio.timeout(limit_s):
        while not condition():  # type: ignore[operator]  # a function
            await asyncio.sleep(0.005)


async def test_vectors_come_back_in_order_whatever_the_batches() -> None:
    encoder = FakeEncoder()
    queue = await started(encoder, batch_tokens=16)
    texts = [" ".join(f"word{n}" for n in range(length)) for length in (1, 30, 2, 7, 3, 0, 50) * 60]
    vectors = await queue.passages(texts)
    assert np.allclose(vectors, encoder.embed(encoder.ids(texts, "passage")))
    assert (await queue.passages([])).shape == (0, encoder.embedding.dimension)
    await queue.stop()


async def test_a_query_goes_before_waiting_passages() -> None:
    encoder = GatedEncoder()
    queue = await started(encoder, batch_tokens=8)
    passages = asyncio.create_task(queue.passages(["one two three four five six"] * 20))
    await until(lambda: len(queue._passages) > 5)
    query = asyncio.create_task(queue.query("a question"))
    await until(lambda: queue._queries)
    for _ in range(2):  # the batch that runs, then the query's
        encoder.gate.release()
    await asyncio.wait_for(query, 10)
    assert not passages.done()
    encoder.gate.release(50)
    assert len(await passages) == 20
    await queue.stop()


async def test_too_many_queries_are_refused_and_callers_that_left_cost_nothing() -> None:
    encoder = GatedEncoder()
    queue = await started(encoder, max_queries=3, batch_tokens=1)
    running = asyncio.create_task(queue.query("running"))
    await until(lambda: not queue._queries and queue._work.is_set())
    waiting = [asyncio.create_task(queue.query(f"q{n}")) for n in range(3)]
    await until(lambda: len(queue._queries) == 3)
    with pytest.raises(Overloaded):
        await queue.query("one more")
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    before = len(encoder.batches)
    encoder.gate.release(10)
    await running
    await until(lambda: not queue._queries)
    assert len(encoder.batches) == before + 1
    await queue.stop()


async def test_an_encoders_failure_reaches_its_callers_alone() -> None:
    encoder = GatedEncoder()
    encoder.gate.release(100)
    queue = await started(encoder)
    encoder.fails = True
    with pytest.raises(RuntimeError):
        await queue.query("x")
    encoder.fails = False
    assert (await queue.query("x")).shape == (64,)
    assert queue.healthy
    await queue.stop()
    with pytest.raises((Unavailable, RuntimeError)):
        await queue.query("x")


async def test_the_budget_is_fair_and_gives_back() -> None:
    budget = Budget(documents=2, size_bytes=100)
    first = await budget.take(80)
    large = asyncio.create_task(budget.take(90))
    small = asyncio.create_task(budget.take(10))
    await asyncio.sleep(0)
    assert not large.done()
    assert not small.done(), "nobody overtakes"
    first.shrink(5)
    (await large).give_back()
    third = await small
    blocked = asyncio.create_task(budget.take(1))
    await asyncio.sleep(0)
    assert not blocked.done(), "two documents are in"
    blocked.cancel()
    await asyncio.gather(blocked, return_exceptions=True)
    first.give_back()
    third.give_back()
    (await asyncio.wait_for(budget.take(100), 1)).give_back()


async def test_a_cancelled_taker_leaks_nothing() -> None:
    budget = Budget(documents=1, size_bytes=10)
    for _ in range(100):
        taking = [asyncio.create_task(budget.take(10)) for _ in range(3)]
        await asyncio.sleep(0)
        for task in taking:
            task.cancel()
        for done in await asyncio.gather(*taking, return_exceptions=True):
            if not isinstance(done, BaseException):
                done.give_back()
    (await asyncio.wait_for(budget.take(10), 1)).give_back()


class Backlog:
    """Chunks by id, with or without ids."""

    def __init__(self, count: int) -> None:
        self.chunks = {f"c{n}": Chunk(f"c{n}", Place(0, 1), f"text {n}") for n in range(count)}

    async def without_tokens(self, digest: str, limit: int) -> tuple[Chunk, ...]:
        return tuple(it for it in self.chunks.values() if it.tokens.digest != digest)[:limit]

    async def fill_tokens(self, tokens: Mapping[str, TokenIds]) -> None:
        for name, ids in tokens.items():
            old = self.chunks[name]
            self.chunks[name] = Chunk(old.chunk_id, old.place, old.text, ids)


class Changing:
    """A tokenizer whose digest changes after so many calls."""

    def __init__(self, digests: Sequence[str]) -> None:
        self.digests = list(digests)
        self.calls = 0

    async def encode(self, texts: Sequence[str]) -> list[TokenIds]:
        digest = self.digests[min(self.calls, len(self.digests) - 1)]
        self.calls += 1
        return [TokenIds((len(text),), digest) for text in texts]


async def test_all_is_filled_and_then_left_alone() -> None:
    backlog, tokenizer = Backlog(300), Changing(["x"])
    filler = TokenFiller(backlog, tokenizer, 1)
    await filler.fill()
    assert {it.tokens.digest for it in backlog.chunks.values()} == {"x"}
    calls = tokenizer.calls
    await filler.fill()
    assert tokenizer.calls == calls + 1, "one probe and no more"


async def test_a_chunk_that_was_stored_late_is_filled_too() -> None:
    backlog = Backlog(3)
    filler = TokenFiller(backlog, Changing(["x"]), 1)
    await filler.fill()
    late = Chunk("late", Place(0, 1), "late", TokenIds((1,), "older"))
    backlog.chunks["late"] = late
    filler.stored([late])
    await filler.fill()
    assert backlog.chunks["late"].tokens.digest == "x"


async def test_ids_of_two_tokenizers_are_never_mixed() -> None:
    backlog = Backlog(300)
    filler = TokenFiller(backlog, Changing(["x", "x", "y"]), 1)
    with pytest.raises(Unavailable):
        await filler.fill()
    await filler.fill()
    assert {it.tokens.digest for it in backlog.chunks.values()} == {"y"}


class Down:
    """A tokenizer that never answers, and counts how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    async def encode(self, texts: Sequence[str]) -> list[TokenIds]:
        self.calls += 1
        raise Unavailable("the tokenizer")


async def test_a_tokenizer_that_is_down_is_left_alone_for_a_while() -> None:
    tokenizer = Down()
    filler = TokenFiller(Backlog(0), tokenizer, 60)
    for _ in range(5):
        assert await filler.encode(["a", "b"]) == [TokenIds(), TokenIds()]
    assert tokenizer.calls == 1


async def test_the_reader_process_survives_its_own_death() -> None:
    reader = ProcessReader(1, 2048, 30)
    kind, parsed = await reader.read("# 标题\n\n正文\x00".encode(), "text/markdown", "")
    assert (kind, parsed.title, parsed.text) == ("markdown", "标题", "# 标题\n\n正文\ufffd")
    process = reader._free.get_nowait()
    assert process is not None
    reader._free.put_nowait(process)
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    assert (await reader.read(b"again", "text/plain", ""))[1].text == "again"
    with pytest.raises(IngestFault) as caught:
        await reader.read(b"\xff", "text/plain", "")
    assert caught.value.reason == "INVALID_ENCODING"
    await reader.close()


async def test_a_reader_that_dies_or_stalls_is_the_documents_fault_alone() -> None:
    reader = ProcessReader(1, 2048, 0.5)
    await reader.read(b"warm", "text/plain", "")
    process = reader._free.get_nowait()
    reader._free.put_nowait(process)
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    with pytest.raises(IngestFault, match=r"over 0\.5 s"):
        await reader.read(b"stalls", "text/plain", "")
    reader = ProcessReader(1, 2048, 20)
    await reader.read(b"warm", "text/plain", "")
    process = reader._free.get_nowait()
    reader._free.put_nowait(process)
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    dying = asyncio.create_task(reader.read(b"dies", "text/plain", ""))
    await asyncio.sleep(0)
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(IngestFault, match="SIGKILL"):
        await dying
    assert (await reader.read(b"lives", "text/plain", ""))[1].text == "lives"
    await reader.close()


async def test_a_cancelled_read_leaves_a_working_reader() -> None:
    reader = ProcessReader(1, 2048, 30)
    await reader.read(b"warm", "text/plain", "")
    reading = asyncio.create_task(reader.read(b"a word " * 1_000_000, "text/plain", ""))
    await asyncio.sleep(0.01)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert (await reader.read(b"mine", "text/plain", ""))[1].text == "mine"
    await reader.close()


async def test_a_document_that_eats_memory_is_refused() -> None:
    reader = ProcessReader(1, 300, 60)
    with pytest.raises(IngestFault) as caught:
        await reader.read(b"word \n\n" * 20_000_000, "text/plain", "")
    assert caught.value.reason == "BROKEN"
    assert (await reader.read(b"small", "text/plain", ""))[1].text == "small"
    await reader.close()
