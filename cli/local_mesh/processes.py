"""Starting, signalling and describing operating system processes, and keeping their logs within bounds."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

MAX_LOG_BYTES = 32 << 20
"""A log that is longer is moved to `<name>.log.1`; so one program keeps twice as much at most."""


async def spawn(command: Sequence[str], env: Mapping[str, str], log: Path) -> asyncio.subprocess.Process:
    """Starts a program as leader of its own group, with its output appended to the log.

    Raises:
        OSError: the program isn't there, or the log can't be written.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(env),
            start_new_session=True,
        )


def signal_one(pid: int, number: int) -> None:
    """Signal a process; 0 and a process that is gone are no error."""
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def signal_group(pid: int, number: int) -> None:
    """Signal the group that a process leads; 0 and a group that is gone are no error."""
    if pid:
        # macOS answers EPERM for a group of which only a zombie is left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)


def describe_exit(code: int) -> str:
    """How a process ended, from what subprocess calls its return code."""
    if code >= 0:
        return f"ended with status {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def bound_log(path: Path) -> None:
    """Copies aside and truncates: the program keeps its file open, in append mode."""
    with contextlib.suppress(OSError):
        if path.stat().st_size > MAX_LOG_BYTES:
            shutil.copyfile(path, path.with_name(path.name + ".1"))
            os.truncate(path, 0)


def last_lines(path: Path, count: int = 15, at_most_bytes: int = 8_192) -> str:
    """The end of a log; empty when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - at_most_bytes))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-count:])
