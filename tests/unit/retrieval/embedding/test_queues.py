"""What waits: the budget of an ingest, the filling in of token ids, the reader process."""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence

import pytest

from citemesh.errors import Unavailable
from services.retrieval.ingestion.budget import Budget
from services.retrieval.ingestion.passage_tokens import TokenFiller
from services.retrieval.ingestion.read.parsed import IngestFault
from services.retrieval.ingestion.read.process.reader import ProcessReader
from services.retrieval.types.chunk import Chunk, Place, TokenIds


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


@pytest.mark.slow
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


@pytest.mark.slow
async def test_a_document_that_eats_memory_is_refused() -> None:
    reader = ProcessReader(1, 300, 60)
    with pytest.raises(IngestFault) as caught:
        await reader.read(b"word \n\n" * 20_000_000, "text/plain", "")
    assert caught.value.reason == "BROKEN"
    assert (await reader.read(b"small", "text/plain", ""))[1].text == "small"
    await reader.close()
