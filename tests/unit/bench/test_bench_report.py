import json
import os
from pathlib import Path

import pytest

from bench.common import cpu, report
from bench.common.args import Options, options
from bench.common.machine import require_memory
from bench.common.report import Aim, Prediction, Question, Report, Table
from bench.common.run import shuffled
from bench.common.show import number
from bench.common.stats import Estimate
from citemesh.errors import PreconditionFailed


def made(value: float) -> Report:
    found = Report("sample", Options(quick=True), {"rounds": 3})
    question = Question("mesh / process", "", Prediction(1.0, 1.1, "few hops"), Aim(at_most=1.10))
    found.answer(question, Estimate(value, value - 0.1, value + 0.1, 3))
    found.tables.append(Table("步骤", ("step", "ms"), [("检索 🔎", 1.5)]))
    return found


def test_the_report_is_json_as_documented(tmp_path: Path) -> None:
    made(1.05).write(tmp_path / "r.json")
    told = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert told["schema"] == 1
    assert told["quick"] is True
    assert told["setting"] == {"rounds": 3}
    assert told["tables"][0]["rows"] == [["检索 🔎", 1.5]]
    documented = report.__doc__ or ""
    assert all(f"    {key} " in documented for key in told)
    assert told["figures"][0]["prediction"] == {"low": 1.0, "high": 1.1, "why": "few hops"}


@pytest.mark.parametrize(
    ("value", "as_predicted", "met"), [(1.05, True, True), (1.2, False, False), (0.9, False, True)]
)
def test_a_figure_says_whether_it_is_as_predicted_and_whether_the_aim_is_met(
    value: float, as_predicted: bool, met: bool
) -> None:
    [figure] = made(value).figures
    assert figure.as_predicted is as_predicted
    assert figure.aim_met is met


def test_aims_have_two_sides() -> None:
    aim = Aim(at_least=0.95, at_most=1.5)
    assert [aim.met(value) for value in (0.94, 0.95, 1.5, 1.51)] == [False, True, True, False]
    assert str(aim) == "≥ 0.95 and ≤ 1.5"


def test_arguments(tmp_path: Path) -> None:
    assert options("x", ["--quick", "--json", str(tmp_path / "a.json"), "--seed", "3"]) == Options(
        True, tmp_path / "a.json", 3
    )
    assert not options("x", []).quick


def test_a_report_that_could_not_be_written_is_refused_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        options("x", ["--json", str(tmp_path / "none" / "a.json")])
    assert "make it first" in capsys.readouterr().err


def test_every_round_has_every_side_and_none_is_always_first() -> None:
    orders = list(shuffled(40, ("a", "b", "c"), 1))
    assert all(sorted(order) == ["a", "b", "c"] for order in orders)
    assert {order[0] for order in orders} == {"a", "b", "c"}
    assert orders == list(shuffled(40, ("a", "b", "c"), 1))


@pytest.mark.parametrize(
    ("value", "shown"), [(1234.5, "1234"), (1.05, "1.05"), (0.01234, "0.0123"), (3, "3"), ("x", "x")]
)
def test_numbers_are_shown_short(value: float | int | str, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.skipif(not cpu.available(), reason="this system doesn't tell")
def test_processor_time_of_this_process_grows_with_work() -> None:
    assert os.getpid() in cpu.tree(os.getpid())
    before = cpu.cpu_s([os.getpid()])
    while cpu.cpu_s([os.getpid()]) - before < 0.01:
        sum(range(10_000))


def test_a_process_that_is_gone_is_named() -> None:
    with pytest.raises(ProcessLookupError, match="gone"):
        cpu.cpu_s([2**22 - 3])


def test_what_would_not_fit_is_refused_with_a_remedy() -> None:
    require_memory(0.001)
    with pytest.raises(PreconditionFailed, match="1e"):
        require_memory(1e9)
