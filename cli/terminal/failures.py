"""How a command ends when it fails: one line that says what, one that says what to do, and an exit status."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from citemesh import errors
from cli.terminal.terminal import printable

STATUSES = """\
Exit status: 0 done, 1 failed, 2 wrong use or input, 3 not available or too busy (try again), 4 no key or not
permitted, 5 out of time, 130 interrupted."""

INTERRUPTED = 130
_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (errors.InvalidInput, 2),
    (errors.Retryable, 3),
    (errors.Unauthenticated, 4),
    (errors.PermissionDenied, 4),
    (errors.DeadlineExceeded, 5),
)
_REMEDIES: tuple[tuple[type[Exception], str], ...] = (
    (errors.Overloaded, "wait a moment and try again"),
    (
        errors.Unavailable,
        "see `citemesh mesh status` and the logs in .citemesh/log; `citemesh up` starts the mesh",
    ),
    (errors.Unauthenticated, "give a key by --key or CITEMESH_CLI_KEY; `citemesh policy key add` makes one"),
    (errors.PermissionDenied, "`citemesh policy key list` shows what each key may call"),
    (errors.DeadlineExceeded, "allow more time (--timeout), ask for less, or end what else keeps this machine busy"),
    (errors.CiteMeshError, ""),
)


def exit_status(error: errors.CiteMeshError) -> int:
    """The exit status that tells a script what kind of failure it was."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 1)


def message_of(error: errors.CiteMeshError) -> str:
    """What went wrong. Where something can't be reached, what is known of it says why rather than what to do."""
    unreachable = isinstance(error, errors.Unavailable) and error.remedy
    return f"{error.message} ({error.remedy})" if unreachable else error.message


def remedy_of(error: errors.CiteMeshError) -> str:
    """What to do: the error's own remedy, else one for its kind; may be empty."""
    usual = next(text for kind, text in _REMEDIES if isinstance(error, kind))
    return usual if isinstance(error, errors.Unavailable) else error.remedy or usual


def as_json(error: errors.CiteMeshError) -> dict[str, Any]:
    """The failure for machines."""
    return {
        "event": "error",
        "reason": error.reason,
        "message": message_of(error),
        "remedy": remedy_of(error),
        "exit_status": exit_status(error),
    }


def report(error: errors.CiteMeshError, as_events: bool = False) -> int:
    """Tells the user, on standard error, or as an event on standard output; answers the exit status."""
    if as_events:
        print(json.dumps(as_json(error), ensure_ascii=False), flush=True)
        return exit_status(error)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(Text.assemble(("error: ", "bold red"), printable(message_of(error))))
    if remedy := remedy_of(error):
        console.print(Text.assemble(("what to do: ", "bold"), printable(remedy)))
    sys.stderr.flush()
    return exit_status(error)
