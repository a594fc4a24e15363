"""Which collections a call may reach."""

import pytest

from citemesh.kit import deadline
from citemesh.kit.reach import EVERYTHING, NOTHING, Reach


@pytest.mark.parametrize(
    ("patterns", "reached", "not_reached"),
    [
        ("*", ["a", "default", "", "中"], []),
        ("notes", ["notes"], ["note", "notes2", "Notes", "", "*"]),
        ("team-*", ["team-", "team-1", "team-a-b"], ["team", "teams-1", "xteam-1"]),
        ("a,b-*", ["a", "b-1"], ["b", "ab-1", "a,b-1"]),
        ("", [], ["", "a", "default"]),
        (",", [], ["", "a"]),
    ],
)
def test_patterns(patterns: str, reached: list[str], not_reached: list[str]) -> None:
    reach = Reach.parse(patterns)
    assert all(map(reach.allows, reached))
    assert not any(map(reach.allows, not_reached))
    assert reach.everything == (patterns == "*")


async def test_the_current_calls_reach() -> None:
    assert deadline.current_reach() == NOTHING, "work that has lost its call may do nothing"
    with deadline.calling(deadline.from_headers({}, 1)):
        assert deadline.current_reach() == EVERYTHING, "no policy stands in front"
    with deadline.calling(deadline.from_headers({"x-citemesh-collections": ""}, 1)):
        assert deadline.current_reach() == NOTHING
    with deadline.calling(deadline.from_headers({"x-citemesh-collections": "a,b-*"}, 1)):
        assert deadline.current_reach() == Reach(("a", "b-*"))
        assert ("x-citemesh-collections", "a,b-*") in deadline.to_headers(deadline.current())


async def test_what_is_not_known_is_not_passed_on() -> None:
    context = deadline.from_headers({"x-citemesh-collection": "a", "x-citemesh-shard": "1"}, 1)
    assert deadline.to_headers(context) == [("x-citemesh-priority", "interactive")]
