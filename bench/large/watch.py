"""What a process and those that it started hold in memory, looked at again and again."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

MIB = 2**20
_EVERY_S = 0.25


@dataclass(frozen=True, slots=True)
class Held:
    """Memory of a moment in MiB: the process's own pages, its pages of files, and its children's own pages."""

    seconds: float
    own: float
    files: float
    children: float


@dataclass(slots=True)
class Watched:
    """All moments."""

    pid: int
    started: float = field(default_factory=time.perf_counter)
    moments: list[Held] = field(default_factory=list)

    def look(self) -> Held:
        """At it now."""
        own, files = _resident(self.pid)
        others = sum(_resident(pid)[0] for pid in _children(self.pid))
        self.moments.append(Held(time.perf_counter() - self.started, own, files, others))
        return self.moments[-1]

    @property
    def peak(self) -> float:
        """Most that the process itself held."""
        return max(moment.own for moment in self.moments)

    @property
    def children_peak(self) -> float:
        """Most that its children held together."""
        return max(moment.children for moment in self.moments)


@asynccontextmanager
async def watching(pid: int) -> AsyncIterator[Watched]:
    """Looks until the end of the context."""
    watched = Watched(pid)
    watched.look()

    async def look_again() -> None:
        while True:
            await asyncio.sleep(_EVERY_S)
            watched.look()

    looking = asyncio.create_task(look_again())
    try:
        yield watched
        watched.look()
    finally:
        looking.cancel()


def _resident(pid: int) -> tuple[float, float]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:  # it has ended
        return 0.0, 0.0
    found = {line.split()[0]: int(line.split()[1]) for line in lines if line.startswith(("RssAnon:", "RssFile:"))}
    return found.get("RssAnon:", 0) / 1024, found.get("RssFile:", 0) / 1024


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, task.read_text(encoding="ascii").split())
        except OSError:
            continue
    return found
