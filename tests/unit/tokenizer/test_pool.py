"""The pool: a lone request at once, batches only under load, refusals, callers that leave, long texts in parts."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from citemesh.errors import DeadlineExceeded, Overloaded, Unavailable
from services.tokenizer.engine import TokenizedText
from services.tokenizer.engines.fake import FakeTokenizer
from services.tokenizer.pool import PoolLimits, TokenizerPool


class GatedTokenizer(FakeTokenizer):
    """A fake that notes its calls and waits in each for the gate."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.calls: list[list[str]] = []
        self.fault: BaseException | None = None

    def encode(self, texts: Sequence[str], with_spans: bool) -> list[TokenizedText]:
        self.calls.append(list(texts))
        assert self.gate.wait(10)
        if self.fault:
            raise self.fault
        return super().encode(texts, with_spans)


@asynccontextmanager
async def running(limits: PoolLimits) -> AsyncIterator[TokenizerPool]:
    pool = TokenizerPool(limits)
    await pool.start()
    try:
        yield pool
    finally:
        await pool.stop()


async def encode(
    pool: TokenizerPool,
    engine: FakeTokenizer,
    *texts: str,
    timeout_s: float = 10,
    priority: int = 0,
    spans: bool = False,
) -> list[TokenizedText]:
    return await pool.encode(engine, texts, with_spans=spans, timeout_s=timeout_s, priority=priority)


async def until(condition: Callable[[], bool], within_s: float = 5.0) -> None:
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.001)


async def test_a_lone_request_is_one_step_of_its_own() -> None:
    engine = GatedTokenizer()
    async with running(PoolLimits()) as pool:
        (tokens,) = await encode(pool, engine, "你好")
        assert tokens.ids == list("你好".encode())
        assert pool.load.steps == 1
        assert pool.load.jobs == pool.load.characters == 0


async def test_what_waits_while_workers_are_busy_is_one_batch() -> None:
    engine = GatedTokenizer()
    async with running(PoolLimits(threads=1)) as pool:
        engine.gate.clear()
        first = asyncio.create_task(encode(pool, engine, "first"))
        await until(lambda: len(engine.calls) == 1)
        later = [asyncio.create_task(encode(pool, engine, f"text {number}")) for number in range(20)]
        await until(lambda: pool.load.jobs == 21)
        engine.gate.set()
        answers = await asyncio.gather(first, *later)
        assert [bytes(tokens.ids).decode() for (tokens,) in answers] == ["first", *(f"text {n}" for n in range(20))]
        assert len(engine.calls) == 2


async def test_requests_that_want_spans_are_batched_apart() -> None:
    engine = GatedTokenizer()
    async with running(PoolLimits(threads=1)) as pool:
        engine.gate.clear()
        first = asyncio.create_task(encode(pool, engine, "first"))
        await until(lambda: len(engine.calls) == 1)
        plain = asyncio.create_task(encode(pool, engine, "plain"))
        spans = asyncio.create_task(encode(pool, engine, "spans", spans=True))
        await until(lambda: pool.load.jobs == 3)
        engine.gate.set()
        await first
        assert (await plain)[0].spans == []
        assert (await spans)[0].spans == [(n, n + 1) for n in range(5)]


async def test_a_full_queue_refuses_at_once_and_says_when_to_come_back() -> None:
    engine = GatedTokenizer()
    async with running(PoolLimits(threads=1, jobs=2)) as pool:
        engine.gate.clear()
        waiting = [asyncio.create_task(encode(pool, engine, "x")) for _ in range(2)]
        await until(lambda: pool.load.jobs == 2)
        with pytest.raises(Overloaded) as refusal:
            await asyncio.wait_for(encode(pool, engine, "y"), 0.5)
        assert refusal.value.retry_after_s > 0
        engine.gate.set()
        await asyncio.gather(*waiting)
        await encode(pool, engine, "now there is space")


async def test_characters_are_bounded_too_but_a_lone_text_may_be_longer() -> None:
    engine = GatedTokenizer()
    async with running(PoolLimits(threads=1, characters=10)) as pool:
        await encode(pool, engine, "x" * 100)
        engine.gate.clear()
        waiting = asyncio.create_task(encode(pool, engine, "x" * 8))
        await until(lambda: pool.load.jobs == 1)
        with pytest.raises(Overloaded):
            await encode(pool, engine, "yyy")
        engine.gate.set()
        await waiting


async def test_a_caller_that_left_is_skipped() -> None:
    engine = GatedTokenizer()
    async with running(PoolLimits(threads=1)) as pool:
        engine.gate.clear()
        first = asyncio.create_task(encode(pool, engine, "first"))
        await until(lambda: len(engine.calls) == 1)
        leaving = asyncio.create_task(encode(pool, engine, "gone"))
        await until(lambda: pool.load.jobs == 2)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        assert pool.load.jobs == 1
        engine.gate.set()
        await first
        await encode(pool, engine, "next")
        assert ["gone"] not in engine.calls
        assert pool.load.skipped == 1


async def test_a_long_text_stops_when_its_caller_leaves() -> None:
    engine = GatedTokenizer()
    async with running(PoolLimits(threads=1, step_characters=256)) as pool:
        engine.gate.clear()
        leaving = asyncio.create_task(encode(pool, engine, "x" * 1_000_000))
        await until(lambda: len(engine.calls) == 1)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        engine.gate.set()
        await encode(pool, engine, "next")
        assert len(engine.calls) <= 3


async def test_a_deadline_that_passes_frees_the_place() -> None:
    engine = GatedTokenizer()
    async with running(PoolLimits(threads=1)) as pool:
        engine.gate.clear()
        with pytest.raises(DeadlineExceeded):
            await encode(pool, engine, "late", timeout_s=0.02)
        assert pool.load.jobs == 0
        engine.gate.set()


async def test_long_texts_come_back_whole_and_share_the_thread() -> None:
    engine = GatedTokenizer()
    text = "天空 sky 😀 " * 500
    async with running(PoolLimits(threads=1, step_characters=256)) as pool:
        long = asyncio.create_task(encode(pool, engine, text, "", "tail", spans=True))
        await until(lambda: len(engine.calls) > 0)
        await encode(pool, engine, "short", spans=True)
        assert not long.done()
        of_text, empty, tail = await long
        assert of_text == FakeTokenizer().encode([text], with_spans=True)[0]
        assert empty == TokenizedText([], [], 0)
        assert bytes(tail.ids) == b"tail"


async def test_the_urgent_go_before_the_patient() -> None:
    engine = GatedTokenizer()
    async with running(PoolLimits(threads=1)) as pool:
        engine.gate.clear()
        first = asyncio.create_task(encode(pool, engine, "first"))
        await until(lambda: len(engine.calls) == 1)
        patient = asyncio.create_task(encode(pool, engine, "patient", priority=2))
        await until(lambda: pool.load.jobs == 2)
        urgent = asyncio.create_task(encode(pool, engine, "urgent", priority=0))
        await until(lambda: pool.load.jobs == 3)
        engine.gate.set()
        await asyncio.gather(first, patient, urgent)
        assert engine.calls == [["first"], ["urgent"], ["patient"]]


class Panic(BaseException):
    """What a native library's panic looks like."""


async def test_a_panic_reaches_its_caller_and_the_pool_lives_on() -> None:
    engine = GatedTokenizer()
    async with running(PoolLimits(threads=1)) as pool:
        engine.fault = Panic()
        with pytest.raises(RuntimeError) as fault:
            await encode(pool, engine, "x")
        assert isinstance(fault.value.__cause__, Panic)
        engine.fault = None
        assert pool.running
        await encode(pool, engine, "x")


async def test_calls_return_what_they_return() -> None:
    async with running(PoolLimits(threads=1)) as pool:
        assert await pool.call(lambda: 42, 1, timeout_s=5, priority=0) == 42
        with pytest.raises(ZeroDivisionError):
            await pool.call(lambda: 1 // 0, 1, timeout_s=5, priority=0)


async def test_what_waits_when_the_pool_stops_is_unavailable() -> None:
    engine = GatedTokenizer()
    pool = TokenizerPool(PoolLimits(threads=1))
    with pytest.raises(Unavailable):
        await encode(pool, engine, "too early")
    await pool.start()
    engine.gate.clear()
    tasks = [asyncio.create_task(encode(pool, engine, f"{n}", spans=n == 1)) for n in range(2)]
    await until(lambda: pool.load.jobs == 2 and len(engine.calls) == 1)
    await pool.stop()
    engine.gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, Unavailable) for result in results)


async def test_a_thousand_callers_get_their_own_answers() -> None:
    engine = FakeTokenizer()
    async with running(PoolLimits(threads=2, jobs=2000)) as pool:
        answers = await asyncio.gather(*(encode(pool, engine, f"text {n}") for n in range(1000)))
        assert [bytes(tokens.ids).decode() for (tokens,) in answers] == [f"text {n}" for n in range(1000)]
        assert pool.load.steps < 1000
