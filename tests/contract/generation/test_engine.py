"""What a generation engine promises, fake or real."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from citemesh.errors import InvalidInput, Overloaded, Unavailable
from services.generation.engine import AnswerPart, Finish, GenerationEngine, ModelFacts, SamplingOptions, Work
from tests.contract.generation.generation_engines import ALL, VLLM, make_engine, prompt_of

TEXT = "[1] The sky is blue. 天空是蓝色的 😀🎉。 " * 20
pytestmark = pytest.mark.asyncio(loop_scope="module")


class Running:
    """A started engine and how to speak to it."""

    def __init__(self, kind: str, engine: GenerationEngine, facts: ModelFacts) -> None:
        self.kind = kind
        self.engine = engine
        self.facts = facts

    def work(self, text: str = TEXT, priority: int = 0, **sampling: object) -> Work:
        return Work(prompt_of(self.kind, text), SamplingOptions(**sampling), priority)  # type: ignore[arg-type]  # differ a test

    async def write(self, work: Work) -> list[AnswerPart]:
        async with aclosing(self.engine.generate(work)) as deltas:
            return [delta async for delta in deltas]

    async def idle(self, within_s: float = 5.0) -> None:
        async with asyncio.timeout(within_s):
            while (state := await self.engine.state()).running + state.waiting:
                await asyncio.sleep(0.002)


@pytest.fixture(scope="module")
async def running(request: pytest.FixtureRequest) -> AsyncIterator[Running]:
    engine = make_engine(request.param)
    facts = await engine.start()
    yield Running(request.param, engine, facts)
    await engine.stop()
    assert not (await engine.state()).healthy


def text_of(deltas: list[AnswerPart]) -> str:
    return "".join(delta.text for delta in deltas)


@pytest.mark.parametrize("running", ALL, indirect=True, scope="module")
class TestEveryEngine:
    async def test_it_says_what_it_runs(self, running: Running) -> None:
        assert running.facts.engine == running.kind
        assert running.facts.max_tokens > 1000
        assert len(running.facts.tokenizer_digest) == 64
        state = await running.engine.state()
        assert (state.healthy, state.running, state.waiting) == (True, 0, 0)

    async def test_answers_come_in_parts_and_end_with_what_they_used(self, running: Running) -> None:
        work = running.work(max_tokens=16)
        deltas = await running.write(work)
        assert len(deltas) > 2
        assert [delta.finish for delta in deltas[:-1]] == [None] * (len(deltas) - 1)
        assert deltas[-1].finish is Finish.LENGTH
        usage = deltas[-1].usage
        assert usage is not None
        assert usage.prompt_tokens == len(work.prompt)
        assert usage.completion_tokens == sum(len(delta.ids) for delta in deltas) <= 16

    async def test_the_same_prompt_gives_the_same_answer(self, running: Running) -> None:
        first, second = [await running.write(running.work(max_tokens=12)) for _ in range(2)]
        assert text_of(first) == text_of(second)

    @pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 7, 9, 30])
    async def test_no_part_splits_a_character(self, running: Running, limit: int) -> None:
        emoji = "Repeat: 😀🎉 你好 👩‍👩‍👧 😀🎉 你好 👩‍👩‍👧 😀🎉 你好 👩‍👩‍👧"
        for delta in await running.write(running.work(emoji, max_tokens=limit)):
            assert "\ufffd" not in delta.text

    async def test_text_prompts_work_too(self, running: Running) -> None:
        deltas = await running.write(Work("Once upon a time", SamplingOptions(max_tokens=8)))
        assert text_of(deltas)

    async def test_stop_texts_are_not_answered(self, running: Running) -> None:
        whole = text_of(await running.write(running.work(max_tokens=40)))
        stop = whole.split()[2]
        deltas = await running.write(running.work(max_tokens=40, stop=(stop,)))
        assert deltas[-1].finish is Finish.STOP
        assert text_of(deltas) == whole[: whole.index(stop)]

    async def test_what_is_written_follows_a_schema(self, running: Running) -> None:
        names = {"type": "array", "items": {"type": "string", "maxLength": 20}, "minItems": 1, "maxItems": 2}
        schema = json.dumps({"type": "object", "properties": {"names": names}, "required": ["names"]})
        text = text_of(await running.write(running.work(max_tokens=200, json_schema=schema)))
        assert 1 <= len(json.loads(text)["names"]) <= 2

    async def test_closing_the_answer_frees_the_engine(self, running: Running) -> None:
        deltas = running.engine.generate(running.work(max_tokens=2000))
        await anext(deltas)
        assert (await running.engine.state()).running == 1
        await deltas.aclose()
        state = await running.engine.state()
        assert (state.running, state.waiting) == (0, 0)

    async def test_a_cancelled_task_frees_the_engine(self, running: Running) -> None:
        tasks = [asyncio.create_task(running.write(running.work(max_tokens=2000))) for _ in range(4)]
        async with asyncio.timeout(30):
            while (await running.engine.state()).running < 4:
                await asyncio.sleep(0.002)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await running.idle()

    async def test_many_at_once_all_end(self, running: Running) -> None:
        works = [running.work(f"{TEXT} {number}", priority=number % 3, max_tokens=4) for number in range(24)]
        answers = await asyncio.gather(*(running.write(work) for work in works))
        assert all(answer[-1].usage is not None for answer in answers)
        await running.idle()

    async def test_prompts_that_cannot_be_taken_say_why(self, running: Running) -> None:
        with pytest.raises(InvalidInput) as empty:
            await running.write(Work(()))
        assert empty.value.remedy
        with pytest.raises(InvalidInput, match="vocabulary"):
            await running.write(Work((4_000_000,)))
        limit = running.facts.max_tokens
        with pytest.raises(InvalidInput) as long:
            await running.write(Work((5,) * (limit + 3)))
        assert str(limit) in str(long.value)
        assert str(limit + 3) in str(long.value)
        assert (await running.engine.state()).healthy

    async def test_an_answer_ends_at_the_longest_sequence(self, running: Running) -> None:
        work = Work((5,) * (running.facts.max_tokens - 3), SamplingOptions(max_tokens=50))
        usage = (await running.write(work))[-1].usage
        assert usage is not None
        assert usage.completion_tokens <= 3


@pytest.mark.parametrize("running", [VLLM], indirect=True, scope="module")
class TestVllm:
    async def test_a_shared_beginning_is_cached(self, running: Running) -> None:
        await running.write(running.work(max_tokens=2))
        usage = (await running.write(running.work(f"{TEXT} And now?", max_tokens=2)))[-1].usage
        assert usage is not None
        assert usage.cached_tokens > usage.prompt_tokens // 2

    async def test_the_scheduler_itself_holds_nothing_after_an_abort(self, running: Running) -> None:
        deltas = running.engine.generate(running.work(max_tokens=4000))
        await anext(deltas)
        await deltas.aclose()
        seen = []
        async with aclosing(running.engine.generate(running.work("Hello", max_tokens=6))) as others:
            async for _ in others:
                seen.append(running.engine.scheduled)  # type: ignore[attr-defined]  # vLLM's engine has it
        assert max(seen) == 1

    async def test_the_urgent_overtake_the_patient(self, running: Running) -> None:
        order: list[int] = []

        async def ask(priority: int, number: int) -> None:
            await running.write(running.work(f"{TEXT} {number}", priority=priority, max_tokens=24))
            order.append(priority)

        async with asyncio.TaskGroup() as group:
            for number in range(32):  # four times as many as run at once: in turn, the urgent one would be the last
                group.create_task(ask(2, number))
            async with asyncio.timeout(60):
                while not (await running.engine.state()).waiting:
                    await asyncio.sleep(0.002)
            group.create_task(ask(0, 99))
        assert order.index(0) < 24

    async def test_what_is_written_follows_a_grammar(self, running: Running) -> None:
        text = text_of(await running.write(running.work(max_tokens=30, grammar='root ::= ("yes " | "no ")+')))
        assert set(text.split()) <= {"yes", "no"}
        with pytest.raises(InvalidInput):
            await running.write(running.work(max_tokens=8, grammar="root ::= ("))

    async def test_json_has_no_white_space_to_get_lost_in(self, running: Running) -> None:
        pretty = json.dumps({"names": ["Ada", "Bo"]}, indent=4)
        names = {"type": "array", "items": {"type": "string", "maxLength": 20}, "minItems": 2, "maxItems": 3}
        schema = json.dumps({"type": "object", "properties": {"names": names}, "required": ["names"]})
        asked = Work(
            f"Names as JSON:\n{pretty}\nOther names as JSON:\n", SamplingOptions(max_tokens=120, json_schema=schema)
        )
        text = text_of(await running.write(asked))
        assert len(json.loads(text)["names"]) in (2, 3)
        assert "\n" not in text and "  " not in text

    async def test_a_schema_that_cannot_be_kept_is_refused(self, running: Running) -> None:
        with pytest.raises(InvalidInput) as refused:
            await running.write(running.work(max_tokens=8, json_schema='{"type": "integer", "multipleOf": 3}'))
        assert refused.value.field == "sampling.json_schema"

    async def test_errors_of_vllm_become_those_of_citemesh(self, running: Running) -> None:
        from vllm.exceptions import QueueOverflowError, VLLMValidationError
        from vllm.v1.engine.exceptions import EngineDeadError

        from services.generation.engines.vllm_engine import translated

        assert isinstance(translated(QueueOverflowError()), Overloaded)
        assert isinstance(translated(EngineDeadError()), Unavailable)
        fault = translated(VLLMValidationError("too soft", parameter="temperature", value=9))
        assert isinstance(fault, InvalidInput)
        assert (fault.field, fault.fault) == ("sampling.temperature", "too soft")
        other = KeyError()
        assert translated(other) is other

    async def test_zz_a_killed_engine_ends_its_streams_and_its_health(self, running: Running) -> None:
        """The last one: the engine is dead afterwards, and is stopped as such."""
        import psutil

        deltas = running.engine.generate(running.work(max_tokens=4000))
        await anext(deltas)
        for child in psutil.Process().children():
            if "EngineCore" in child.name() or "EngineCore" in " ".join(child.cmdline()):
                child.kill()
        with pytest.raises(Unavailable):
            async with asyncio.timeout(10):
                [delta async for delta in deltas]
        assert not (await running.engine.state()).healthy
        with pytest.raises(Unavailable):
            await running.write(running.work(max_tokens=2))
