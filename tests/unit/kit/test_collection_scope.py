"""Which collections a call may reach."""

import pytest

from citemesh.kit import call_context
from citemesh.kit.collection_scope import EVERYTHING, NOTHING, CollectionScope


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
    scope = CollectionScope.parse(patterns)
    assert all(map(scope.allows, reached))
    assert not any(map(scope.allows, not_reached))
    assert scope.everything == (patterns == "*")


async def test_the_current_calls_reach() -> None:
    assert call_context.current_scope() == NOTHING, "work that has lost its call may do nothing"
    with call_context.calling(call_context.from_headers({}, 1)):
        assert call_context.current_scope() == EVERYTHING, "no policy stands in front"
    with call_context.calling(call_context.from_headers({"x-citemesh-collections": ""}, 1)):
        assert call_context.current_scope() == NOTHING
    with call_context.calling(call_context.from_headers({"x-citemesh-collections": "a,b-*"}, 1)):
        assert call_context.current_scope() == CollectionScope(("a", "b-*"))
        assert ("x-citemesh-collections", "a,b-*") in call_context.to_headers(call_context.current())


async def test_what_is_not_known_is_not_passed_on() -> None:
    context = call_context.from_headers({"x-citemesh-collection": "a", "x-citemesh-shard": "1"}, 1)
    assert call_context.to_headers(context) == [("x-citemesh-priority", "interactive")]
