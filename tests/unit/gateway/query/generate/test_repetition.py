"""A model that loops is noticed; lists, tables and rulers are not loops."""

import pytest

from gateway.query.generate.repetition import LoopWatch


def loops(deltas: list[str]) -> bool:
    watch = LoopWatch()
    return any(watch.feed(delta) for delta in deltas)


@pytest.mark.parametrize(
    "unit", ["--enable-key-auth ", "It is a server. ", "它是一个很好的服务器。", "```\n# key-auth\n```\n\n"]
)
def test_three_times_in_a_row_is_a_loop(unit: str) -> None:
    assert loops([f"To begin: {unit * 3}"])
    assert loops(list(f"To begin: {unit * 3}"))
    assert not loops([f"To begin: {unit * 2}"])


@pytest.mark.parametrize(
    "text",
    [
        "-" * 500,
        "| --- | --- | --- | --- | --- | --- | --- |\n" * 3,
        "\n" * 300,
        "a b a b a b a b",
        "\n".join(f"{number}. Step number {number} of the list" for number in range(40)),
    ],
)
def test_what_is_no_loop(text: str) -> None:
    assert not loops([text])
