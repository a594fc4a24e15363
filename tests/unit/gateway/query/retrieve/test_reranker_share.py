"""What the reranker has no use for is not sent to it, and a reranker that is configured anew gets its use back."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from citemesh.client.types import Judge, Passage, Question
from citemesh.errors import NotSupported, Unavailable
from gateway.query.deadline import Deadline
from gateway.query.flow import Flow
from gateway.query.retrieve import reranker_share
from gateway.query.retrieve.ranking import by_search
from gateway.query.retrieve.reranker_share import Judges
from tests.unit.gateway.query.asking import ASKED, said_by
from tests.unit.gateway.query.fakes import (
    LIMITS,
    PASSAGES,
    FakeReranker,
    FakeRetrieval,
    Mesh,
    answer_of,
    done_of,
    sources_of,
)

VECTORS = "d" * 64
LATE, SHARED, CROSS = Judge("late", 0.0, VECTORS), Judge("late", 0.2, VECTORS), Judge("cross", 0.5)
LEXICAL_CROSS = Judge("cross", 0.0)


def scored(*scores: float) -> tuple[Passage, ...]:
    return tuple(replace(one, fused=score) for one, score in zip(PASSAGES, scores, strict=True))


def mesh_of(judge: Judge | Exception, passages: Sequence[Passage] = PASSAGES) -> Mesh:
    return Mesh(retrieval=FakeRetrieval(tuple(passages)), reranker=FakeReranker(judge=judge))


def vectors_of(mesh: Mesh) -> int | None:
    search = mesh.retrieval.searches[0]
    return search.token_vectors_of if search.with_token_vectors else None


@pytest.mark.parametrize(
    ("judge", "reranks", "ask_vectors", "search_vectors"),
    [
        (LATE, 0, 9, None),  # the sentences of an answer are checked by them; passages as such are not
        (SHARED, 1, 0, 0),
        (CROSS, 1, None, None),
        (LEXICAL_CROSS, 0, None, None),
        (NotSupported("GetModel"), 1, 0, 0),
        (Unavailable("reranker"), 1, 0, 0),
    ],
)
async def test_only_what_is_of_use_is_sent(
    judge: Judge | Exception, reranks: int, ask_vectors: int | None, search_vectors: int | None
) -> None:
    mesh = mesh_of(judge)
    said = await said_by(Flow(mesh.services, LIMITS))
    assert "40 bar" in answer_of(said)
    assert done_of(said).notice == ""
    assert len(mesh.reranker.attributed) >= 1, "sentences are checked whatever the order goes by"
    assert (len(mesh.reranker.reranked), vectors_of(mesh)) == (reranks, ask_vectors)

    mesh = mesh_of(judge)
    await Flow(mesh.services, LIMITS).search(Question(ASKED), 10, Deadline.after(5))
    assert (len(mesh.reranker.reranked), vectors_of(mesh)) == (reranks, search_vectors)


async def test_the_order_is_what_a_reranker_without_a_share_would_answer() -> None:
    passages = scored(0.2, 0.9, 0.2)
    mesh = mesh_of(LATE, passages)
    found = await Flow(mesh.services, LIMITS).search(Question(ASKED), 10, Deadline.after(5))
    assert [(one.document_id, one.score) for one in found] == [("d2", 1.0), ("d1", 0.0), ("d3", 0.0)]
    assert [one.score for one in by_search(scored(0.3, 0.3, 0.3))] == [1.0, 1.0, 1.0]
    assert by_search(()) == []


async def test_the_reranker_is_asked_once_for_many_questions() -> None:
    mesh = mesh_of(LATE)
    flow = Flow(mesh.services, LIMITS)
    for number in range(5):
        await said_by(flow, f"Question {number} about the pump?")
    assert (mesh.reranker.told, mesh.reranker.reranked) == (1, [])


async def test_a_reranker_that_is_configured_anew_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = mesh_of(LATE)
    flow = Flow(mesh.services, LIMITS)
    await said_by(flow, "What runs at 40 bar?")
    mesh.reranker.judge = CROSS
    monkeypatch.setattr(reranker_share, "KEEP_S", -1.0)  # as if the time had passed: what is learned now is old at once
    flow._gatherer._ranker._judges.forget()
    await said_by(flow, "What was built in 1987?")
    mesh.reranker.judge = LATE
    await said_by(flow, "What lives in the sea?")
    assert len(mesh.reranker.reranked) == 1
    assert [search.with_token_vectors for search in mesh.retrieval.searches] == [True, False, True]


async def test_one_that_fails_is_asked_anew_and_one_that_is_silent_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mesh = mesh_of(CROSS)
    flow = Flow(mesh.services, LIMITS)
    await said_by(flow, "What runs at 40 bar?")
    mesh.reranker.error = Unavailable("reranker")
    assert "rank" in done_of(await said_by(flow, "What was built in 1987?")).notice
    mesh.reranker.error, mesh.reranker.judge = None, LATE
    await said_by(flow, "What lives in the sea?")
    assert (mesh.reranker.told, len(mesh.reranker.reranked)) == (2, 2)

    class Silent(FakeReranker):
        async def model(self) -> Judge:
            await asyncio.Event().wait()
            return LATE

    monkeypatch.setattr(reranker_share, "WAIT_S", 0.01)
    assert await Judges(Silent()).get() is None


async def test_what_is_known_is_kept_for_a_while() -> None:
    now = [0.0]
    reranker = FakeReranker(judge=Unavailable("reranker"))
    kept = Judges(reranker, lambda: now[0])
    assert await kept.get() is None
    reranker.judge = LATE
    assert await kept.get() is None
    now[0] += reranker_share.UNKNOWN_S + 0.1
    assert await kept.get() == LATE
    reranker.judge = CROSS
    now[0] += reranker_share.KEEP_S
    assert await kept.get() == LATE
    now[0] += 0.1
    assert await kept.get() == CROSS
    assert reranker.told == 3


async def test_hops_of_a_question_share_what_is_known() -> None:
    mesh = mesh_of(LATE)
    found = await Flow(mesh.services, LIMITS).search(Question(ASKED, more_collections=("b",)), 10, Deadline.after(5))
    assert {one.score for one in found} == {1.0}
    assert mesh.reranker.told == 1
    assert sources_of(await said_by(Flow(mesh.services, LIMITS))).sources
