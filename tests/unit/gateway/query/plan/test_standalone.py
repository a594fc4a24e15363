"""A follow-up takes from what was said before what it leaves out, and a whole question takes nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.query.plan.standalone import Exchange, hints, standalone

TOWER = Exchange("When was the Eiffel Tower built?", "It was built in 1889 for the World's Fair.")
STOKER = Exchange("Who wrote Dracula?", "Bram Stoker wrote Dracula.")
PUBLISHER = Exchange("What company published Journal of Psychotherapy?", "American Psychological Association")
PUMP = Exchange("At what pressure does the main pump run?", "It runs at 40 bar.")
CHINESE = Exchange("主水泵的工作压力是多少？", "主水泵的工作压力是四十巴。")


@pytest.mark.parametrize(
    ("question", "past", "expected"),
    [
        ("How tall is it?", TOWER, "How tall is Eiffel Tower?"),
        ("What about the Louvre?", TOWER, "When was the Louvre built?"),
        ("And the Louvre?", TOWER, "When was the Louvre built?"),
        ("And who designed it?", TOWER, "Who designed Eiffel Tower?"),
        ("Why?", TOWER, "When was the Eiffel Tower built? Why?"),
        ("When was he born?", STOKER, "When was Bram Stoker born?"),
        ("What are his other books?", STOKER, "What are Bram Stoker's other books?"),
        (
            "Who was the first president of it?",
            PUBLISHER,
            "Who was the first president of American Psychological Association?",
        ),
        ("How often does it need oil?", PUMP, "How often does the main pump need oil?"),
        ("它多久需要换一次润滑油？", CHINESE, "主水泵多久需要换一次润滑油？"),
        ("副水泵呢？", CHINESE, "副水泵的工作压力是多少？"),
        ("What plane dropped the bomb on it?", TOWER, "What plane dropped the bomb on Eiffel Tower?"),
    ],
)
def test_a_follow_up_is_completed(question: str, past: Exchange, expected: str) -> None:
    assert standalone(question, [past]) == expected


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?",
        "Does the main pump need oil when it runs?",
        "Is there any other tower in Paris?",
        "When Ada Lovelace met Babbage, what did she write?",
        "中国的首都是哪里？",
        "Which book that Tolkien wrote is longest?",
        "🐳?!",
    ],
)
def test_a_whole_question_is_left_alone(question: str) -> None:
    if question != "🐳?!":
        assert standalone(question, [TOWER]) == question
    assert standalone(question, []) == question


def test_a_search_looks_for_what_a_pronoun_may_mean_as_well() -> None:
    asked, past = (
        "How old is it?",
        [Exchange("Who painted it for the Louvre Palace?", "Leonardo da Vinci, in May 1503.")],
    )
    made = standalone(asked, past)
    assert made == "How old is Leonardo da Vinci?"
    assert hints(asked, made, past) == ()
    tower = [TOWER]
    assert hints("How tall is it?", standalone("How tall is it?", tower), tower) == ("World's Fair",)
    assert hints("What about the Louvre?", standalone("What about the Louvre?", tower), tower) == ()
    assert hints("Who is Ada Wells?", "Who is Ada Wells?", tower) == ()


@given(st.text(max_size=200), st.lists(st.tuples(st.text(max_size=100), st.text(max_size=100)), max_size=3))
def test_any_text_gives_some_question(question: str, past: list[tuple[str, str]]) -> None:
    found = standalone(question, [Exchange(*one) for one in past])
    assert len(found) <= len(question) + sum(map(len, sum(past, ()))) + 8
