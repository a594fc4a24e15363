"""Kept answers: given again only where they would be the same, and to those who may see them."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.client.types import AskEvent, DoneEvent, PlanEvent, Question, SearchFilter, SourcesEvent, Usage
from citemesh.errors import NotFound, PermissionDenied, Unavailable
from gateway.query.answers.cache import AnswerCache, normal
from gateway.query.deadline import Deadline
from gateway.query.flow import Flow
from gateway.threads.owner import Owner
from tests.unit.gateway.query.asking import ASKED, said_by
from tests.unit.gateway.query.fakes import (
    LIMITS,
    PASSAGES,
    FakeGeneration,
    FakeRetrieval,
    Mesh,
    answer_of,
    assert_sound,
    done_of,
    sources_of,
)
from tests.unit.gateway.query.history.test_conversation import FakeThreads


async def both(mesh: Mesh, first: Question, second: Question, owner: Owner | None = None) -> bool:
    """Whether the second question is answered from what was kept of the first."""
    flow = Flow(mesh.services, LIMITS)
    await said_by(flow, first)
    said: list[AskEvent] = []

    async def emit(event: AskEvent) -> None:
        said.append(event)

    await flow.ask(second, Deadline.after(30), emit, 0.0, owner or Owner("", ""))
    assert_sound(said)
    return done_of(said).cached


async def test_the_same_question_is_answered_the_same_without_any_model() -> None:
    mesh = Mesh()
    flow = Flow(mesh.services, LIMITS)
    first = await said_by(flow, Question(ASKED, related_questions=3))
    second = await said_by(flow, Question("  " + ASKED.lower().rstrip("?"), related_questions=3))
    assert len(mesh.generation.prompts) == 1
    assert second[0] == PlanEvent(ASKED.lower().rstrip("?"), (ASKED.lower().rstrip("?"),))
    assert second[1:-1] == first[1:-1]
    assert_sound(second)
    done = done_of(second)
    assert (done.cached, done.usage, done.searches) == (True, Usage(), 0)
    assert (done.cited, done.model, done.finish) == (done_of(first).cited, "fake-model", "complete")
    check = mesh.retrieval.searches[-1]
    assert (check.mode, check.top_k, len(mesh.retrieval.searches)) == ("lexical", 1, 2)


@pytest.mark.parametrize(
    "fields",
    [
        {"collection": "other"},
        {"more_collections": ("other",)},
        {"mode": "extractive"},
        {"max_tokens": 7},
        {"source_types": ("pdf",)},
        {"filter": SearchFilter(domains=("a.org",))},
        {"filter": SearchFilter(metadata={"k": "v"})},
        {"answer_language": "de"},
        {"length": "short"},
        {"style": "list"},
        {"related_questions": 2},
        {"max_hops": 1},
        {"skip_cache": True},
        {"temperature": 0.7},
        {"question": "At what pressure does the valve run?"},
        {"question": "At what pressure does the pump run in C++?"},
        {"history": (("user", "Where is Leeds?"),), "question": "How old is it?"},
    ],
)
async def test_another_question_is_answered_anew(fields: dict[str, Any]) -> None:
    assert not await both(Mesh(), Question(ASKED), replace(Question(ASKED), **fields))


async def test_a_changed_collection_is_read_anew_and_the_new_answer_kept() -> None:
    mesh = Mesh()
    flow = Flow(mesh.services, LIMITS)
    await said_by(flow)
    mesh.retrieval.sequence, mesh.retrieval.passages = 2, PASSAGES[:1]
    said = await said_by(flow)
    assert not done_of(said).cached
    assert len(sources_of(said).sources) == 1
    assert done_of(await said_by(flow)).cached


@pytest.mark.parametrize(("changed", "cached"), [("elsewhere", True), ("default", False), ("notes", False), ("", True)])
async def test_only_a_change_of_what_was_searched_forgets_an_answer(changed: str, cached: bool) -> None:
    mesh = Mesh(retrieval=FakeRetrieval(PASSAGES, sequences={"default": 4, "notes": 9, "elsewhere": 9}))
    flow, asked = Flow(mesh.services, LIMITS), Question(ASKED, more_collections=("notes",))
    await said_by(flow, asked)
    if changed:
        mesh.retrieval.sequences[changed] += 1
    assert done_of(await said_by(flow, asked)).cached is cached
    assert done_of(await said_by(flow, asked)).cached
    looked = {(search.collection, search.mode) for search in mesh.retrieval.searches[2:4]}
    assert looked == {("default", "lexical"), ("notes", "lexical")}, "each is looked at, and no other one"


async def test_another_tenant_gets_an_answer_of_its_own() -> None:
    assert await both(Mesh(), Question(ASKED), Question(ASKED))
    assert not await both(Mesh(), Question(ASKED), Question(ASKED), Owner("acme", "ann"))


@pytest.mark.parametrize("error", [PermissionDenied("no"), NotFound("collection", "default"), Unavailable("retrieval")])
async def test_who_may_not_search_gets_nothing_that_was_kept(error: Exception) -> None:
    mesh = Mesh()
    flow = Flow(mesh.services, LIMITS)
    await said_by(flow)
    mesh.retrieval.error = error
    with pytest.raises(type(error)):
        await said_by(flow)


async def test_another_model_writes_anew() -> None:
    mesh = Mesh()
    flow = Flow(mesh.services, LIMITS)
    await said_by(flow)
    mesh.generation.model = replace(mesh.generation.model, name="better")
    flow._composer._models.forget()
    assert done_of(await said_by(flow)).model == "better"


@pytest.mark.parametrize(
    "mesh",
    [
        Mesh(generation=FakeGeneration(list_error=Unavailable("generation"))),
        Mesh(generation=FakeGeneration(("The pump ",), error=Unavailable("generation"))),
        Mesh(retrieval=FakeRetrieval(PASSAGES, notices=("The dense part was left out.",))),
    ],
)
async def test_what_will_be_better_next_time_is_not_kept(mesh: Mesh) -> None:
    flow = Flow(mesh.services, LIMITS)
    await said_by(flow)
    mesh.generation.list_error = mesh.generation.error = None
    assert not done_of(await said_by(flow)).cached


async def test_a_kept_answer_is_a_turn_of_the_thread_that_asks_for_it() -> None:
    kept, mesh = FakeThreads(), Mesh()
    flow = Flow(mesh.services, LIMITS, kept)
    first = await said_by(flow, Question(ASKED, start_thread=True))
    second = await said_by(flow, Question(ASKED))
    third = await said_by(flow, Question(ASKED, thread_id="t9"))
    assert [done_of(said).cached for said in (first, second, third)] == [False, True, True]
    assert [done_of(said).thread_id for said in (first, second, third)] == ["t1", "", "t9"]
    assert kept.turns[0].answer == kept.turns[1].answer == answer_of(first)
    assert kept.turns[0].sources == kept.turns[1].sources


DONE = DoneEvent("complete", "generated", Usage(), (), {}, "", "m")


def test_entries_bytes_and_age_are_bounded() -> None:
    now = [0.0]
    cache = AnswerCache(2, 5000, 10.0, lambda: now[0])
    for key in "abc":
        cache.put(key, [SourcesEvent(())], DONE, ())
    assert (cache.get("a"), len(cache)) == (None, 2)
    assert cache.get("b")
    cache.put("d", [SourcesEvent(())], DONE, ())
    assert cache.get("b") and not cache.get("c")
    cache.put("big", [PlanEvent("q", ())] * 100, DONE, ())
    assert not cache.get("big")
    now[0] = 11.0
    assert cache.get("b") is None
    cache.drop("d")
    assert (len(cache), cache.bytes) == (0, 0)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 30)), max_size=40))
def test_the_count_of_bytes_is_true(puts: list[tuple[str, int]]) -> None:
    cache = AnswerCache(3, 5000, 10.0, lambda: 0.0)
    for key, size in puts:
        cache.put(key, [PlanEvent("q", ())] * size, DONE, ())
        held = [kept.size for kept in cache._kept.values()]
        assert cache.bytes == sum(held) <= 5000
        assert len(held) <= 3


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("What's the pump's pressure?", "what is the pump's pressure", True),
        ("Please tell me who wrote Dracula.", "Who wrote Dracula?", True),
        ("水泵的压力是多少？", "请问水泵的压力是多少", True),
        ("What does IT cost?", "What does it cost?", False),
        ("What is C?", "What is C++?", False),
        ("Is A bigger than B?", "Is B bigger than A?", False),
        ("Was it 1.5?", "Was it 15?", False),
        ("What is vitamin A?", "What is vitamin?", False),
    ],
)
def test_near_duplicates_are_one_and_others_are_not(one: str, other: str, same: bool) -> None:
    assert (normal(one) == normal(other)) is same
