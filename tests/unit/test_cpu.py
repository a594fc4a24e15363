"""Cores that a process may use: those that it may run on, within its control group's share of time."""

import os
from pathlib import Path

import pytest

from citemesh.cpu import usable_cores

GROUPS = "sys/fs/cgroup"


@pytest.fixture
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))


def write(system: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = system / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")


@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize(
    ("quota", "cores"),
    [("200000 100000", 2), ("50000 100000", 1), ("350000 100000", 3), ("max 100000", 8), ("", 8), ("1 0", 8)],
)
def test_a_share_of_time_allows_no_more_cores(tmp_path: Path, quota: str, cores: int) -> None:
    write(tmp_path, {f"{GROUPS}/cpu.max": f"{quota}\n"})
    assert usable_cores(tmp_path) == cores
    assert usable_cores(tmp_path / "none") == 8


@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize(
    ("quota", "period", "cores"), [("250000", "100000", 2), ("-1", "100000", 8), ("10000", "100000", 1), ("x", "", 8)]
)
@pytest.mark.parametrize("mount", ["cpu", "cpu,cpuacct"])
def test_older_control_groups_say_it_in_two_files(
    tmp_path: Path, mount: str, quota: str, period: str, cores: int
) -> None:
    group = f"{GROUPS}/{mount}/user.slice"
    write(
        tmp_path,
        {
            "proc/self/cgroup": f"4:memory:/\n2:{mount}:/user.slice\n0::/other\n",
            f"{group}/cpu.cfs_quota_us": f"{quota}\n",
            f"{group}/cpu.cfs_period_us": f"{period}\n",
        },
    )
    assert usable_cores(tmp_path) == cores


@pytest.mark.usefixtures("eight_cores")
def test_the_tightest_of_the_groups_above_counts(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/machine/pod/container\n",
            f"{GROUPS}/machine/cpu.max": "max 100000\n",
            f"{GROUPS}/machine/pod/cpu.max": "300000 100000\n",
            f"{GROUPS}/machine/pod/container/cpu.max": "600000 100000\n",
        },
    )
    assert usable_cores(tmp_path) == 3


@pytest.mark.usefixtures("eight_cores")
def test_a_container_that_sees_the_machines_path_finds_its_group_at_the_root(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/self/cgroup": "2:cpu,cpuacct:/docker/0123abc\n",
            f"{GROUPS}/cpu/cpu.cfs_quota_us": "400000\n",
            f"{GROUPS}/cpu/cpu.cfs_period_us": "100000\n",
        },
    )
    assert usable_cores(tmp_path) == 4


def test_a_process_bound_to_fewer_cores_than_its_quota_has_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    write(tmp_path, {f"{GROUPS}/cpu.max": "400000 100000\n"})
    assert usable_cores(tmp_path) == 1


def test_a_system_without_affinity_counts_its_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert usable_cores(tmp_path) == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores(tmp_path) == 1
