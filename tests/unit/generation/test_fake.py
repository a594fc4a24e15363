"""The fake engine does as it is told: slow, full, dead, cut short."""

import asyncio
from contextlib import aclosing

import pytest

from citemesh.errors import InvalidInput, Overloaded, Unavailable
from citemesh.models.tokens import byte_vocabulary as vocabulary
from services.generation.engine import AnswerPart, Finish, SamplingOptions, Work
from services.generation.engines.fake import FakeGenerationEngine, Faults, cut

TEXT = "[1] 天空是蓝色的，草是绿色的 😀。\n[2] The sky is blue and grass is green."


async def started(faults: Faults | None = None, max_running: int = 4) -> FakeGenerationEngine:
    engine = FakeGenerationEngine(faults or Faults(), max_running)
    await engine.start()
    return engine


async def written(engine: FakeGenerationEngine, work: Work) -> list[AnswerPart]:
    async with aclosing(engine.generate(work)) as deltas:
        return [delta async for delta in deltas]


async def test_ids_are_the_bytes_of_the_text() -> None:
    deltas = await written(await started(), Work(tuple(vocabulary.encode(TEXT))))
    assert all(vocabulary.decode(delta.ids) == delta.text for delta in deltas)
    assert deltas[-1].finish is Finish.STOP
    usage = deltas[-1].usage
    assert usage is not None
    assert usage.prompt_tokens == len(TEXT.encode())
    assert usage.completion_tokens == sum(len(delta.ids) for delta in deltas)


@pytest.mark.parametrize("limit", range(1, 40))
async def test_no_limit_cuts_a_character(limit: int) -> None:
    deltas = await written(await started(), Work(TEXT, SamplingOptions(max_tokens=limit)))
    text = "".join(delta.text for delta in deltas)
    assert "\ufffd" not in text
    assert limit - 4 < len(text.encode()) <= limit
    assert deltas[-1].finish is Finish.LENGTH


async def test_stop_texts_end_it_and_are_not_answered() -> None:
    deltas = await written(await started(), Work(TEXT, SamplingOptions(stop=("色", "sky"))))
    assert "".join(delta.text for delta in deltas).endswith("蓝")
    assert deltas[-1].finish is Finish.STOP


async def test_it_refuses_when_told_to() -> None:
    with pytest.raises(Overloaded):
        await written(await started(Faults(refuse=True)), Work("x"))


async def test_it_dies_mid_stream_and_stays_dead() -> None:
    engine = await started(Faults(die_after=2))
    deltas = engine.generate(Work(TEXT))
    assert [(await anext(deltas)).finish for _ in range(2)] == [None, None]
    with pytest.raises(Unavailable):
        await anext(deltas)
    assert not (await engine.state()).healthy
    with pytest.raises(Unavailable):
        await written(engine, Work("x"))


async def test_requests_beyond_its_places_wait_and_are_counted() -> None:
    engine = await started(Faults(delay_s=60), max_running=1)
    tasks = [asyncio.create_task(written(engine, Work(TEXT))) for _ in range(3)]
    async with asyncio.timeout(5):
        while (state := await engine.state()).running + state.waiting < 3:
            await asyncio.sleep(0.001)
    assert (state.running, state.waiting) == (1, 2)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    state = await engine.state()
    assert (state.running, state.waiting) == (0, 0)


async def test_prompts_are_checked() -> None:
    engine = await started()
    for prompt in ((), "", (1, 259), (5,) * 40000):
        with pytest.raises(InvalidInput) as fault:
            await written(engine, Work(prompt))
        assert fault.value.remedy


def test_cut_keeps_whole_characters() -> None:
    assert [cut("a😀", size) for size in range(6)] == ["", "a", "a", "a", "a", "a😀"]
