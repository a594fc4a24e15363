"""How a long step tells what it is doing."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with a short sentence and the done fraction, 0 to 1, which never falls within one step."""


def silent(step: str, done: float) -> None:
    """Takes progress and shows nothing."""


def scaled(progress: Progress, start: float, end: float) -> Progress:
    """Returns a progress whose 0 to 1 lands on `start` to `end` of `progress`."""
    return lambda step, done: progress(step, start + (end - start) * done)
