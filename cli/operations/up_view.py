"""What `citemesh up` shows: a table that lives on a terminal, lines in a log, or events for machines."""

from __future__ import annotations

import json
import sys
import time
from typing import Any, Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cli.local_mesh.layout import SIDECAR
from cli.local_mesh.stack import Stack
from cli.local_mesh.supervisor import Status

_QUESTION = "How does a policy change reach a sidecar?"
_METHOD = "citemesh.api.query.v1.QueryService/Ask"
_STYLES = {"healthy": "green", "unhealthy": "bold red", "backing-off": "bold red", "starting": "yellow"}


class View(Protocol):
    """What takes the news of a mesh."""

    def begin(self, stack: Stack) -> None:
        """The programs were started."""

    def update(self, stack: Stack) -> None:
        """Looks at the programs' states again."""

    def say(self, event: str, text: str, **facts: Any) -> None:
        """Something happened: its name, a sentence for people, and facts for machines."""

    def ready(self, stack: Stack) -> None:
        """The mesh answers: tell where and how to ask."""

    def close(self) -> None:
        """The start is over, well or not."""


class Changes:
    """Which programs' states are news."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, int]] = {}

    def of(self, statuses: dict[str, Status]) -> list[tuple[str, Status]]:
        """Those whose state or count of restarts isn't what it was."""
        now: dict[str, tuple[str, int]] = {name: (status.state, status.restarts) for name, status in statuses.items()}
        changed = [name for name in now if now[name] != self._last.get(name)]
        self._last = now
        return [(name, statuses[name]) for name in changed]


class JsonView:
    """One JSON object a line."""

    def __init__(self) -> None:
        self._changes = Changes()

    def begin(self, stack: Stack) -> None:
        """The states tell it."""

    def update(self, stack: Stack) -> None:
        """Tells changed states."""
        for name, status in self._changes.of(stack.status):
            facts = {"program": name, "state": status.state, "pid": status.pid, "restarts": status.restarts}
            self.say("state", "", **facts, last_exit=status.last_exit)

    def say(self, event: str, text: str, **facts: Any) -> None:
        """Tells an event."""
        line = {"event": event, **({"text": text} if text else {}), **facts}
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    def ready(self, stack: Stack) -> None:
        """Tells where the mesh answers."""
        key_file = str(stack.layout.keyring.default_file)
        self.say("ready", "", targets=stack.targets, rest=stack.rest_url, key_file=key_file, pids=stack.pids())

    def close(self) -> None:
        """Nothing is open."""


class LineView:
    """Lines for a log; on a terminal a table stands under them while the mesh starts."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._changes = Changes()
        self._started = time.monotonic()
        self._live: Live | None = None

    def update(self, stack: Stack) -> None:
        """Redraw the table, or tell what changed once there is none."""
        changed = self._changes.of(stack.status)
        if self._live is not None:
            self._live.update(status_table(stack, time.monotonic() - self._started), refresh=True)
            return
        for name, status in changed:
            if status.state != "waiting":
                self._tell(name, status)

    def begin(self, stack: Stack) -> None:
        """Shows the table, where there is a terminal to show it on."""
        if self._out.is_terminal:
            self._live = Live(status_table(stack, 0.0), console=self._out, auto_refresh=False)
            self._live.start()

    def say(self, event: str, text: str, **facts: Any) -> None:
        """Prints the sentence."""
        if text:
            self._out.print(text)

    def ready(self, stack: Stack) -> None:
        """Prints where and how to ask; with the key on a terminal alone, where nobody keeps what is printed."""
        self._out.print(how_to_ask(stack, secrets=self._out.is_terminal))

    def close(self) -> None:
        """Leave the table as it is and go on below it."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _tell(self, name: str, status: Status) -> None:
        style = _STYLES.get(status.state, "")
        exit_note = f" ({status.last_exit})" if status.state == "backing-off" else ""
        self._out.print(Text.assemble(f"{name}: ", (status.state, style), exit_note))


def status_table(stack: Stack, seconds: float) -> Table:
    """A row a service: its app, its sidecar, and how often either was started again."""
    table = Table(box=None, pad_edge=False, header_style="bold", caption=f"{seconds:.0f} s", caption_justify="left")
    columns = (
        ("service", "app", "sidecar", "restarts", "address") if stack.options.mesh else ("service", "app", "restarts")
    )
    for column in columns:
        table.add_column(column, min_width=11 if column in ("app", "sidecar") else None)
    for service in stack.layout.service_names:
        app, sidecar = stack.status.get(service, Status()), stack.status.get(service + SIDECAR)
        restarts = str(app.restarts + (sidecar.restarts if sidecar else 0))
        if stack.options.mesh:
            table.add_row(service, _state(app), _state(sidecar or Status()), restarts, stack.targets[service])
        else:
            table.add_row(service, _state(app), restarts)
    return table


def how_to_ask(stack: Stack, secrets: bool) -> Text:
    """Where the mesh answers, the key, and an example for each API.

    Args:
        secrets: whether the key itself may be shown.
    """
    lines: list[str | tuple[str, str]] = [("\nThe mesh answers.\n", "bold green")]
    lines += [f"  gRPC  {stack.targets['gateway']}\n", f"  REST  {stack.rest_url}\n"]
    lines += _page_and_key(stack, secrets)
    lines += [(f"\n  {example}", "cyan") for example in _examples(stack)]
    return Text.assemble(*lines, "\n\nCtrl-C stops it.")


def _page_and_key(stack: Stack, secrets: bool) -> list[str | tuple[str, str]]:
    key_file = stack.layout.keyring.default_file
    if not stack.options.mesh:
        return [f"  page  {stack.rest_url}/\n", "  Without sidecars nobody checks keys.\n"]
    if not secrets:
        return [f"  page  {stack.rest_url}/\n", f"  key   kept in {key_file}\n"]
    # What stands behind # stays in the browser: no server, and so no log, sees it.
    return [
        f"  page  {stack.rest_url}/#key={stack.key}\n",
        f"  key   {stack.key}  (kept in {key_file})\n",
        ("  The page's address holds the key, which opens this mesh: keep it to yourself.\n", "yellow"),
    ]


def _examples(stack: Stack) -> list[str]:
    """One for each API, to be pasted into a shell."""
    key = f' -H "authorization: Bearer $(cat {stack.layout.keyring.default_file})"' if stack.options.mesh else ""
    address = stack.targets["gateway"]
    curl = f"curl -s {stack.rest_url}/v1/query{key} -H 'content-type: application/json'"
    return [
        f'citemesh ask "{_QUESTION}"',
        f'{curl} -d \'{{"query": "{_QUESTION}"}}\'',
        f'grpcurl -plaintext{key} -d \'{{"question": "{_QUESTION}"}}\' {address} {_METHOD}',
    ]


def _state(status: Status) -> Text:
    return Text(status.state, style=_STYLES.get(status.state, "dim"))
