"""Related questions: from what was found and not used, in the question's language, each once."""

import pytest

from citemesh.client.types import FollowUpsEvent, Passage, Question
from gateway.query.follow_up.rules import related
from gateway.query.pack.packing import Scored, to_source
from tests.unit.gateway.query.asking import ASKED, ask
from tests.unit.gateway.query.fakes import FakeRetrieval, Mesh, passage

USED = Scored(passage("The pump runs at 40 bar.", "d1"), 1.0)
HISTORY = Scored(passage("The works was founded in Leeds in 1987. It grew.", "d2", 3, "History"), 0.5)
VALVE = Scored(passage("A check valve is a valve that closes by itself.", "d3", 0, "Valves"), 0.4)
CHINESE = Scored(passage("止回阀是一种自动关闭的阀门。", "d4", 0, "阀门"), 0.3)


def proposed(question: str, *passages: Scored, asked: tuple[str, ...] = (), most: int = 5) -> tuple[str, ...]:
    return related(question, (USED, *passages), [to_source(USED)], asked, most)


def test_questions_come_from_sentences_and_headings_of_unused_passages() -> None:
    assert proposed(ASKED, HISTORY, VALVE) == (
        "When was the works founded?",
        "What is a check valve?",
        "What is said about “Pumps” in “History”?",
    )
    assert proposed(ASKED, HISTORY, VALVE, most=1) == ("When was the works founded?",)
    assert proposed(ASKED) == ()
    assert proposed(ASKED, HISTORY, most=0) == ()


def test_what_was_merely_found_gives_no_question() -> None:
    assert proposed(ASKED, Scored(VALVE.passage, 0.05), HISTORY) == proposed(ASKED, HISTORY)


def test_what_was_asked_is_not_proposed_again() -> None:
    assert "What is a check valve?" not in proposed("What is a check valve?", VALVE)
    assert "What is a check valve?" not in proposed(
        ASKED, VALVE, asked=("What's a check valve", "What is a check valve?")
    )


def test_the_language_is_the_questions() -> None:
    assert proposed("水泵是什么？", CHINESE, VALVE)[0] == "止回阀是什么？"
    assert not any("check" in one for one in proposed("水泵的压力是多少？", CHINESE, VALVE))
    assert proposed("Wie hoch ist der Druck?", VALVE) == ()


def test_a_heading_that_asks_is_taken_as_it_stands() -> None:
    found = Scored(passage("Call us.", "d5", 0, "1.2 How do I order spare parts?"), 0.3)
    assert "How do I order spare parts?" in proposed("Wie hoch ist der Druck?", found)


@pytest.mark.parametrize("text", ["", "It was built in 1987.", "\x00🐳" * 50, "Is are was were. " * 50])
def test_odd_passages_give_no_odd_questions(text: str) -> None:
    for one in proposed(ASKED, Scored(passage(text, "d9", 0, "T" * 500), 0.1)):
        assert one[-1] in "?？"
        assert len(one) <= 160


async def test_they_come_after_the_answer_where_asked_for() -> None:
    mesh = Mesh(retrieval=FakeRetrieval((USED.passage, *(one.passage for one in (HISTORY, VALVE)), *many())))
    said = await ask(mesh, Question(ASKED, related_questions=2))
    assert isinstance(said[-2], FollowUpsEvent)
    assert 1 <= len(said[-2].questions) <= 2
    plain = await ask(mesh, Question(ASKED))
    assert not any(isinstance(event, FollowUpsEvent) for event in plain)


def many() -> list[Passage]:
    return [passage(f"A part number {n} of the pump is a part of its own.", f"p{n}", 0, f"Part {n}") for n in range(5)]
