"""What a question continues, and what of it is kept."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.client.types import Question
from citemesh.errors import NotSupported, PreconditionFailed, Unavailable
from gateway.query.flow import Flow
from gateway.query.history.turns import recent, tokens, told
from gateway.query.plan.standalone import Exchange, standalone
from gateway.threads.owner import Owner
from gateway.threads.turn import Thread, Turn
from tests.unit.gateway.query.asking import ASKED, said_by
from tests.unit.gateway.query.fakes import LIMITS, FakeGeneration, Mesh, answer_of, assert_sound, done_of


class FakeThreads:
    """Keeps one thread; ``error`` is what keeping a turn meets."""

    def __init__(self, error: Exception | None = None, service: Exception | None = None) -> None:
        self.turns: list[Turn] = []
        self._error, self._service = error, service

    async def require_space(self, owner: Owner, thread_id: str) -> None:
        if self._service:
            raise self._service

    async def read(self, owner: Owner, thread_id: str, most: int | None = None) -> tuple[Thread, tuple[Turn, ...]]:
        return Thread(thread_id, "", self.turns[0].asked_at, len(self.turns)), tuple(self.turns)

    async def append(self, owner: Owner, thread_id: str, turn: Turn) -> str:
        if self._error:
            raise self._error
        self.turns.append(turn)
        return thread_id or "t1"


async def test_a_follow_up_of_a_follow_up_still_knows_what_it_is_about() -> None:
    kept, mesh = FakeThreads(), Mesh(generation=FakeGeneration(("It was Gustave Eiffel's company.",)))
    flow = Flow(mesh.services, LIMITS, kept)
    await said_by(flow, Question("When was the Louvre Palace built?", start_thread=True))
    await said_by(flow, Question("How tall is it?", thread_id="t1"))
    await said_by(flow, Question("And how old is it?", thread_id="t1"))
    assert [asked for asked, _, _ in mesh.retrieval.asked] == [
        "When was the Louvre Palace built?",
        "How tall is Louvre Palace? Gustave Eiffel",
        "How old is Louvre Palace? Gustave Eiffel",
    ]
    assert [turn.standalone for turn in kept.turns][1:] == ["How tall is Louvre Palace?", "How old is Louvre Palace?"]
    assert [turn.question for turn in kept.turns][1] == "How tall is it?"


async def test_a_turn_that_cannot_be_kept_is_said_and_the_answer_stands() -> None:
    said = await said_by(
        Flow(Mesh().services, LIMITS, FakeThreads(Unavailable("threads"))), Question(ASKED, start_thread=True)
    )
    assert_sound(said)
    assert answer_of(said)
    assert done_of(said).thread_id == ""
    assert "could not be kept" in done_of(said).notice


async def test_a_full_thread_is_refused_before_any_work() -> None:
    mesh = Mesh()
    with pytest.raises(PreconditionFailed):
        await said_by(
            Flow(mesh.services, LIMITS, FakeThreads(service=PreconditionFailed("THREAD_FULL", "full"))),
            Question(ASKED, thread_id="t1"),
        )
    assert not mesh.retrieval.asked


async def test_without_threads_asking_for_one_is_refused() -> None:
    with pytest.raises(NotSupported):
        await said_by(Flow(Mesh().services, LIMITS), Question(ASKED, start_thread=True))


async def test_an_answer_by_itself_is_not_kept() -> None:
    kept = FakeThreads()
    said = await said_by(Flow(Mesh().services, LIMITS, kept), ASKED)
    assert (kept.turns, done_of(said).thread_id) == ([], "")


async def test_history_is_trimmed_to_its_budget() -> None:
    mesh = Mesh()
    old = (("user", "Who built the Eiffel Tower?"), ("assistant", "It was " + "very long ago " * 400))
    new = (("user", "Where is the Louvre Palace?"), ("assistant", "In Paris."))
    flow = Flow(mesh.services, replace(LIMITS, history_tokens=60))
    await said_by(flow, Question("How old is it?", history=(*old, *new)))
    assert mesh.retrieval.asked[-1][0] == "How old is Louvre Palace? Paris"


def test_turns_in_a_row_are_one_and_an_answer_without_a_question_is_left_out() -> None:
    history = (
        ("assistant", "Welcome."),
        ("user", "Who wrote Dracula?"),
        ("user", "Please."),
        ("assistant", "Bram"),
        ("assistant", "Stoker."),
        ("user", "When was he born?"),
    )
    first, second = told(history)
    assert first == Exchange("Who wrote Dracula?\nPlease.", "Bram\nStoker.")
    assert second.question.startswith("When was") and "he" not in second.question.split()


@pytest.mark.parametrize("filler", ["What about x ? ", "A-B-C ", "it ", "水泵的", "x" * 50, "Of The De La "])
def test_a_huge_history_takes_no_time(filler: str) -> None:
    text = (filler * 40_000)[:32_768]
    started = time.thread_time()
    past = told([("user", text), ("assistant", text)] * 50)
    standalone(text, past)
    standalone("How old is it?", past)
    assert time.thread_time() - started < 2.0


@given(st.lists(st.tuples(st.text(max_size=200), st.text(max_size=200)), max_size=6), st.integers(0, 100))
def test_what_is_recalled_fits_and_is_the_newest(pairs: list[tuple[str, str]], budget: int) -> None:
    past = [Exchange(*pair) for pair in pairs]
    kept = recent(past, budget)
    assert [one.question for one in kept] == [one.question for one in past][len(past) - len(kept) :]
    assert bool(kept) == bool(past)
    spent = sum(tokens(one.answer) for one in kept[:-1]) + sum(tokens(one.question) for one in kept[:-1])
    assert spent <= budget
