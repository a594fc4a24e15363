"""The queue in front of an encoder: batches, order, who goes first, what is shared, and what is refused."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import pytest

from citemesh.errors import Overloaded, Unavailable
from citemesh.models.tokens.token_vectors import unpack
from services.retrieval.embedding.encoder import ChunkTokens, Ids
from services.retrieval.embedding.fake import FakeEncoder
from services.retrieval.embedding.lane import Lane
from services.retrieval.embedding.query_cache import QueryCache
from services.retrieval.embedding.queue import EmbeddingLimits, EmbeddingQueue
from services.retrieval.types.chunk import PackedTokenVectors, Vector


class GatedEncoder(FakeEncoder):
    """Waits for a gate before each batch, one for queries and one for passages, and notes what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Semaphore(0)
        self.passage_gate = threading.Semaphore(0)
        self.batches: list[int] = []
        self.fails = False
        self.entered = 0

    def embed(self, batch: Sequence[Ids]) -> Vector:
        """One batch of queries, when the gate lets it through."""
        self.entered += 1
        assert self.gate.acquire(timeout=10)
        self.batches.append(len(batch))
        if self.fails:
            raise RuntimeError("no memory")
        return super().embed(batch)

    def embed_tokens(self, batch: Sequence[ChunkTokens]) -> tuple[Vector, list[bytes]]:
        """One batch of passages, when their gate lets it through."""
        assert self.passage_gate.acquire(timeout=10)
        self.gate.release()
        return super().embed_tokens(batch)


async def started(encoder: FakeEncoder, limits: EmbeddingLimits | None = None) -> EmbeddingQueue:
    queue = EmbeddingQueue(lambda: encoder, limits)
    if isinstance(encoder, GatedEncoder):
        encoder.gate.release()
    await queue.start()
    return queue


async def until(condition: Callable[[], object], limit_s: float = 10.0) -> None:
    async with asyncio.timeout(limit_s):
        while not condition():
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("workers", [1, 3])
async def test_vectors_come_back_in_order_whatever_the_batches(workers: int) -> None:
    encoder = FakeEncoder()
    queue = await started(encoder, EmbeddingLimits(batch_tokens=16, workers=workers))
    texts = [" ".join(f"word{n}" for n in range(length)) for length in (1, 30, 2, 7, 3, 0, 50) * 60]
    vectors = await queue.passages(texts)
    assert np.allclose(vectors, encoder.embed(encoder.ids(texts, "passage")))
    assert (await queue.passages([])).shape == (0, encoder.embedding.dimension)
    await queue.stop()


async def test_chunks_get_vectors_of_their_own_tokens_alone() -> None:
    encoder = FakeEncoder()
    queue = await started(encoder)
    texts = ["own words here", "字 🎉", "", "x"]
    seen = [f"A title\n{text}" for text in texts]
    vectors, kept = await queue.chunks(seen, [len(text) for text in texts])
    assert np.allclose(vectors, encoder.embed(encoder.ids(seen, "passage")))
    assert {it.digest for it in kept} == {encoder.token_vectors_digest}
    places = [unpack(it.packed, len(text)).places.tolist() for it, text in zip(kept, texts, strict=True)]
    assert places == [[2, 8, 13], [0, 2], [], [0]]
    await queue.stop()


class NoTokens:
    """An encoder that makes no token vectors."""

    def __init__(self) -> None:
        self._fake = FakeEncoder()
        self.embedding = self._fake.embedding
        self.count, self.ends, self.ids = self._fake.count, self._fake.ends, self._fake.ids
        self.embed, self.unknown_rate = self._fake.embed, self._fake.unknown_rate


async def test_token_vectors_are_left_out_where_there_are_none_or_none_are_wanted() -> None:
    for encoder, limits in ((NoTokens(), EmbeddingLimits()), (FakeEncoder(), EmbeddingLimits(token_vectors=False))):
        queue = EmbeddingQueue(lambda encoder=encoder: encoder, limits)  # type: ignore[misc]  # bound at once
        await queue.start()
        vectors, kept = await queue.chunks(["a b", "c"], [3, 1])
        assert vectors.shape == (2, 64)
        assert kept == [PackedTokenVectors(), PackedTokenVectors()]
        await queue.stop()


async def test_a_query_does_not_wait_for_passages() -> None:
    encoder = GatedEncoder()
    queue = await started(encoder, EmbeddingLimits(batch_tokens=8))
    passages = asyncio.create_task(queue.passages(["one two three four five six"] * 20))
    await until(lambda: queue._passages.waiting > 5)
    encoder.gate.release()
    await asyncio.wait_for(queue.query("a question"), 10)
    assert not passages.done()
    encoder.passage_gate.release(50)
    encoder.gate.release(50)
    assert len(await passages) == 20
    await queue.stop()


async def test_too_many_queries_are_refused_and_callers_that_left_cost_nothing() -> None:
    encoder = GatedEncoder()
    queue = await started(encoder, EmbeddingLimits(max_queries=3, batch_tokens=1))
    running = asyncio.create_task(queue.query("running"))
    waiting = [asyncio.create_task(queue.query(f"q{n}")) for n in range(4)]
    await until(lambda: queue._queries.waiting >= 3)
    with pytest.raises(Overloaded):
        await queue.query("one more")
    joined = asyncio.create_task(queue.query("q3"))
    await until(lambda: queue._cache._flights["q3"].waiting == 2)
    for task in [*waiting, joined]:
        task.cancel()
    await asyncio.gather(*waiting, joined, return_exceptions=True)
    before = len(encoder.batches)
    encoder.gate.release(10)
    await running
    await until(lambda: not queue._queries.waiting)
    assert len(encoder.batches) <= before + 2, "the one that ran, and at most one that had begun"
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
    with pytest.raises(Unavailable):
        await queue.query("x")


async def test_a_query_asked_again_costs_nothing() -> None:
    encoder = GatedEncoder()
    queue = await started(encoder, EmbeddingLimits(cached_queries=2))
    encoder.gate.release(3)
    first = await queue.query("one")
    assert np.array_equal(await queue.query("one"), first)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1
    await queue.query("two")
    await queue.query("three")
    assert len(encoder.batches) == 4
    again = asyncio.create_task(queue.query("one"))
    await until(lambda: queue._cache._flights)
    encoder.gate.release()
    assert np.array_equal(await again, first), "the oldest went"
    assert len(queue._cache) == 2
    await queue.stop()


async def test_equal_queries_at_once_are_made_once_whoever_of_them_leaves() -> None:
    encoder = GatedEncoder()
    queue = await started(encoder)
    askers = [asyncio.create_task(queue.query("same")) for _ in range(10)]
    await until(lambda: queue._cache._flights and queue._cache._flights["same"].waiting == 10)
    for asker in askers[:9]:
        asker.cancel()
    encoder.gate.release()
    assert (await askers[9]).shape == (64,)
    assert encoder.batches == [1, 1], "the warm-up and this one"
    await queue.stop()


async def test_several_queries_are_made_in_one_go_but_for_those_that_are_known_or_in_the_making() -> None:
    encoder = GatedEncoder()
    queue = await started(encoder)
    flying = asyncio.create_task(queue.query("flying"))
    await until(lambda: encoder.entered == 2)
    several = asyncio.create_task(queue.queries(["a", "flying", "b", "a"]))
    await until(lambda: queue._queries.waiting == 2)
    encoder.gate.release(2)
    a, shared, b, again = await several
    assert shared is await flying
    assert again is a
    assert not np.array_equal(a, b)
    assert encoder.batches == [1, 1, 2], "the warm-up, the one in the making, both others"
    assert await queue.query("b") is b
    assert await queue.queries([]) == []
    left = asyncio.create_task(queue.queries([f"left {n}" for n in range(8)]))
    await until(lambda: encoder.entered == 4)
    left.cancel()
    await asyncio.gather(left, return_exceptions=True)
    encoder.gate.release(2)
    assert (await queue.query("after")).shape == (64,)
    await queue.stop()


async def test_a_query_that_everyone_left_can_be_asked_again_at_once() -> None:
    made: list[asyncio.Event] = []

    async def make(texts: Sequence[str]) -> list[Vector]:
        made.append(asyncio.Event())
        await made[-1].wait()
        return [np.ones(2, np.float32) for _ in texts]

    cache = QueryCache(make, 4)
    left = asyncio.create_task(cache.get("q"))
    await until(lambda: made)
    left.cancel()
    again = asyncio.create_task(cache.get("q"))
    await until(lambda: len(made) == 2)
    made[1].set()
    assert (await again).tolist() == [1, 1]
    assert left.cancelled()


async def test_a_failed_or_very_long_query_is_not_kept() -> None:
    calls = 0

    async def make(texts: Sequence[str]) -> list[Vector]:
        nonlocal calls
        calls += 1
        if "bad" in texts:
            raise Unavailable("the model")
        return [np.ones(2, np.float32) for _ in texts]

    cache = QueryCache(make, 4)
    for text in ("bad", "bad", "x" * 3000, "x" * 3000):
        try:
            await cache.get(text)
        except Unavailable:
            assert text == "bad"
    assert calls == 4
    assert len(cache) == 0


async def test_queries_behind_a_busy_model_share_a_batch_and_a_lone_one_never_waits() -> None:
    encoder = GatedEncoder()
    queue = await started(encoder, EmbeddingLimits(window_s=30))
    encoder.gate.release()
    await asyncio.wait_for(queue.query("alone"), 10)
    encoder.gate.release()
    await asyncio.wait_for(queue.query("alone again"), 10)
    first = asyncio.create_task(queue.query("first"))
    await until(lambda: queue._queries._filled.is_set() and not queue._queries.waiting)
    rest = [asyncio.create_task(queue.query(f"q{n}")) for n in range(5)]
    await until(lambda: queue._queries.waiting == 5)
    encoder.gate.release(2)
    await first
    assert encoder.batches == [1, 1, 1, 1]
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    await queue.stop()


async def test_a_batch_is_waited_for_where_several_wait_already() -> None:
    gate = threading.Semaphore(0)
    batches: list[list[str]] = []

    def work(batch: list[str]) -> list[str]:
        assert gate.acquire(timeout=10)
        batches.append(batch)
        return batch

    lane: Lane[str, str] = Lane("test", work, 1, 100, window_s=0.2)
    lane.start()
    ran: list[Awaitable[str]] = [asyncio.create_task(lane.run("a"))]
    await until(lambda: lane._filled.is_set() and not lane.waiting)
    ran += [asyncio.create_task(lane.run(name)) for name in "bc"]
    await until(lambda: lane.waiting == 2)
    gate.release()
    await ran[0]
    ran.append(asyncio.create_task(lane.run("d")))
    gate.release(2)
    await asyncio.gather(*ran)
    assert batches == [["a"], ["b", "c", "d"]]
    await lane.stop()


async def test_what_waits_at_the_end_is_refused() -> None:
    encoder = GatedEncoder()
    queue = await started(encoder, EmbeddingLimits(batch_tokens=1))
    asking = [asyncio.create_task(queue.query(f"q{n}")) for n in range(3)]
    await until(lambda: queue._queries.waiting >= 2)
    encoder.gate.release(10)
    stopping = asyncio.create_task(queue.stop())
    found = await asyncio.wait_for(asyncio.gather(*asking, return_exceptions=True), 10)
    assert all(isinstance(it, Unavailable | np.ndarray) for it in found)
    assert any(isinstance(it, Unavailable) for it in found)
    await stopping


async def test_what_the_model_cannot_read_is_told() -> None:
    queue = await started(FakeEncoder(unreadable="字"), EmbeddingLimits(unreadable_share=0.5))
    assert await queue.unreadable(["字字", "字a", "字ab", "", "  "]) == {0}
    assert await queue.readable(["字字字a"]) == [None]
    for text in ("字 a", "?", "字 a"):
        assert (await queue.readable([text]))[0] is not None
    found = await queue.readable(["字字字a", "字 a", "new", "字字字a"])
    assert [vector is None for vector in found] == [True, False, False, True]
    await queue.stop()
