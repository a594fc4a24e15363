"""How many threads a step takes, by what runs beside it."""

from pathlib import Path

import pytest

from services.generation.engines.threads import READS_FROM, Threads


@pytest.fixture
def running(tmp_path: Path) -> Path:
    return tmp_path / "loadavg"


def say(running: Path, tasks: int) -> None:
    running.write_text(f"0.42 0.30 0.20 {tasks}/345 6789\n", encoding="ascii")


@pytest.mark.parametrize(("tasks", "threads"), [(1, 4), (2, 3), (3, 2), (4, 1), (40, 1)])
def test_reading_takes_the_cores_that_are_idle(running: Path, tasks: int, threads: int) -> None:
    say(running, tasks)
    chosen = Threads(1, 4, running)
    assert chosen.of_step(500) == (threads if threads > 1 else 0)
    assert chosen.of_step(1) == (1 if threads > 1 else 0)


def test_nothing_is_changed_that_is_as_it_should_be(running: Path) -> None:
    say(running, 1)
    chosen = Threads(1, 2, running)
    assert [chosen.of_step(n) for n in (READS_FROM, 500, READS_FROM - 1, 1, 1, 16, 900)] == [2, 0, 1, 0, 0, 0, 2]


def test_reading_has_never_fewer_threads_than_writing(running: Path) -> None:
    say(running, 90)
    assert [Threads(4, 2, running).of_step(n) for n in (500, 1)] == [0, 0]


def test_one_that_rests_in_a_moment_does_not_count(running: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say(running, 2)
    monkeypatch.setattr("services.generation.engines.threads.time.sleep", lambda _: say(running, 1))
    assert Threads(1, 2, running).of_step(500) == 2


@pytest.mark.parametrize("text", [None, "", "0.1 0.2 0.3", "0.1 0.2 0.3 x/y 9"])
def test_where_the_system_does_not_tell_no_core_is_idle(running: Path, text: str | None) -> None:
    if text is not None:
        running.write_text(text, encoding="ascii")
    assert Threads(1, 8, running).of_step(500) == 0
