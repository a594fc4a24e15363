"""`citemesh doctor`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from citemesh.errors import CiteMeshError, PreconditionFailed
from cli.local_mesh.layout import Layout, StackOptions
from cli.local_mesh.runtime import find_running
from cli.operations import checks
from cli.operations.checks import Check
from cli.operations.model_preparation import model_checks, prepare_all
from cli.operations.service_settings import model_references
from cli.terminal.connect import json_option, reporting, settings_for, state_dir_option
from cli.terminal.settings import CliSettings
from cli.terminal.terminal import console, printable

_LOOKS = {"ok": ("ok", "green"), "lack": ("lack", "bold red"), "optional": ("note", "yellow")}


@click.command()
@click.option("--prepare", is_flag=True, help="Prepare the models that are not ready.")
@state_dir_option
@json_option
@reporting
def doctor(prepare: bool, state_dir: Path | None, as_json: bool) -> int:
    """Say what this machine has of what CiteMesh needs, and what to do about each lack. Exit status 1 on a lack."""
    settings = settings_for(state_dir)
    if prepare:
        prepare_all(model_references(), settings.models_dir, console())
    checks = all_checks(settings)
    if as_json:
        for check in checks:
            click.echo(json.dumps(asdict(check), ensure_ascii=False))
    else:
        console().print(_table(checks))
    return 1 if any(check.verdict == "lack" for check in checks) else 0


def all_checks(settings: CliSettings) -> list[Check]:
    """Everything looked at, in the order a person would."""
    return [
        checks.python(),
        *_safely("packages", lambda: checks.packages()),
        checks.torch_companions(),
        *_safely("models", lambda: model_checks(model_references(), settings.models_dir)),
        checks.envoy(),
        *_safely("mesh", lambda: _mesh(settings)),
        checks.full_text_search(),
        checks.cores(),
        checks.memory(),
        checks.disk(settings.state_dir, "state"),
        checks.disk(settings.models_dir, "models"),
        checks.gpu(),
        checks.rust(),
    ]


def _mesh(settings: CliSettings) -> list[Check]:
    layout = Layout(StackOptions(settings.state_dir, settings.port_base))
    try:
        running = find_running(settings.state_dir)
    except PreconditionFailed:
        return [checks.policy(layout), checks.ports(layout)]
    return [checks.policy(layout), Check("ports", "ok", f"used by the running mesh (process {running.pid})")]


def _safely(name: str, look: Callable[[], list[Check]]) -> list[Check]:
    """A lack of what a check itself needs is a lack, too."""
    try:
        return look()
    except CiteMeshError as error:
        return [Check(name, "lack", error.message, error.remedy)]


def _table(checks: Sequence[Check]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        word, style = _LOOKS[check.verdict]
        text = Text(printable(check.found))
        if check.remedy and check.verdict != "ok":
            text.append(f"\n→ {printable(check.remedy)}", style="dim" if check.verdict == "optional" else "bold")
        table.add_row(Text(word, style=style), check.name, text)
    return table
