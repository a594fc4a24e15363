"""How many cores of the machine this process may use."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_SYSTEM = Path("/")
_GROUPS = Path("sys/fs/cgroup")


def usable_cores(system: Path = _SYSTEM) -> int:
    """Returns how many cores this process may keep busy, 1 and up.

    They are those that it may run on, and no more than the share of time of its control group and of the groups above
    that one: a container that gets 2.5 cores' time of 64 has 2. See the kernel's documentation: cgroup-v2 (cpu.max),
    sched-bwc (cpu.cfs_quota_us).

    Args:
        system: root of the file system that says so.
    """
    return max(1, min([_cores_to_run_on(), *map(int, _quotas(system))]))


def _cores_to_run_on() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _quotas(system: Path) -> Iterator[float]:
    """Yields each limit, in cores; nothing where there is none or the system has no control groups."""
    for directory in _directories(system):
        quota = _quota_of_v2(directory) or _quota_of_v1(directory)
        if quota is not None:
            yield quota


def _directories(system: Path) -> Iterator[Path]:
    """Yields the directories of the process's groups and of those above them.

    In a container the path may be the machine's, of which only the last group can be seen, as the mount's root.
    """
    for line in _text(system / "proc/self/cgroup").splitlines() or ["0::/"]:
        controllers, _, path = line.partition(":")[2].partition(":")
        group = PurePosixPath(path.lstrip("/"))
        for mount in _mounts(controllers):
            yield from (system / _GROUPS / mount / above for above in (group, *group.parents))


def _mounts(controllers: str) -> tuple[str, ...]:
    """Returns where a hierarchy of groups may be mounted; none for one that says nothing of processor time."""
    if not controllers:  # cgroup-v2
        return ("",)
    return (controllers, "cpu") if "cpu" in controllers.split(",") else ()


def _quota_of_v2(directory: Path) -> float | None:
    quota, _, period = _text(directory / "cpu.max").partition(" ")
    return _share(quota, period)


def _quota_of_v1(directory: Path) -> float | None:
    return _share(_text(directory / "cpu.cfs_quota_us"), _text(directory / "cpu.cfs_period_us"))


def _share(quota: str, period: str) -> float | None:
    """Returns microseconds of each period as cores; None for "max", -1 and what can't be read."""
    try:
        share = int(quota) / int(period)
    except (ValueError, ZeroDivisionError):
        return None
    return share if share > 0 else None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
