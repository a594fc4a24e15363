"""Threads for a step of a model on a CPU."""

import time
from pathlib import Path

SETTING = "citemesh_threads"
"""Key of vLLM's additional_config: threads for each step, and most of them for reading."""
READS_FROM = 64
"""Tokens of a step from which it reads: writing takes one a request, and fewer requests run at once."""
LOOKS = 3
LOOK_EVERY_S = 0.001
"""A process that hands a question on goes idle within about a millisecond."""


class Threads:
    """Chooses the threads of a step: all idle cores for reading, a fixed number for writing.

    Args:
        always: threads of a step that writes, and the fewest of one that reads.
        reading: most threads of a step that reads.
        running: file that says how many tasks run now, as Linux' /proc/loadavg does (kernel documentation, proc);
            where there is none, no core counts as idle.
    """

    def __init__(self, always: int, reading: int, running: Path) -> None:
        self._always, self._reading, self._running = always, max(always, reading), running
        self._now = always

    def of_step(self, tokens: int) -> int:
        """Threads to change to for a step of so many tokens; 0 where they are as they should be."""
        before, self._now = self._now, self._reading_threads() if tokens >= READS_FROM else self._always
        return self._now if self._now != before else 0

    def _reading_threads(self) -> int:
        """The best of a few looks, since a caller that handed a question on runs for another moment."""
        free = 0
        for look in range(LOOKS if self._reading > self._always else 0):
            if look:
                time.sleep(LOOK_EVERY_S)
            free = max(free, self._reading - self._others())
            if free == self._reading:
                break
        return max(self._always, free)

    def _others(self) -> int:
        """Tasks that run beside this one."""
        try:
            return int(self._running.read_text(encoding="ascii").split()[3].partition("/")[0]) - 1
        except (OSError, ValueError, IndexError):
            return self._reading
