"""Processor time that processes took, from /proc (Linux)."""

from collections.abc import Iterable
from pathlib import Path


def available() -> bool:
    """Whether this system tells."""
    return Path("/proc/self/schedstat").exists()


def cpu_s(pids: Iterable[int]) -> float:
    """Seconds that the threads of processes ran so far, to the nanosecond; threads that ended are not in it.

    Raises ProcessLookupError where a process is gone.
    """
    return sum(map(_cpu_s, pids))


def tree(pid: int) -> list[int]:
    """A process and all that descend from it. Raises ProcessLookupError where it is gone."""
    found = [pid]
    for parent in found:
        found += [child for child in _children(parent) if child not in found]
    return found


def _cpu_s(pid: int) -> float:
    """First field of schedstat: nanoseconds on a processor (kernel documentation, scheduler/sched-stats)."""
    total = 0
    for task in _tasks(pid):
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:  # the thread ended since it was listed
            continue
    return total / 1e9


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in _tasks(pid):
        try:
            found += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def _tasks(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        raise ProcessLookupError(f"process {pid} is gone; did it crash? its log says") from None
