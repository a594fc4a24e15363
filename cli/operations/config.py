"""`citemesh config`: docs/config.md, from the settings themselves."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from citemesh.errors import PreconditionFailed
from citemesh.kit.settings import CommonSettings, ServiceSettings, table
from cli.operations.service_settings import settings_by_service
from cli.terminal.connect import reporting
from cli.terminal.settings import CliSettings

_HEAD = """\
# Settings

Written from the settings' own declarations by `citemesh config`; do not edit. All are environment variables. A
`CITEMESH_…` variable that is not listed here is refused, so that a typing error is told and not shrugged at.
"""
_EVERY_SERVICE = """\
Each of `TOKENIZER`, `RETRIEVAL`, `GENERATION`, `RERANKER` and `GATEWAY` takes these in place of `<SERVICE>`, and may
narrow a shared setting in the same way (`CITEMESH_TOKENIZER_LOG_LEVEL`). `citemesh up` sets `LISTEN`, `TARGETS` and
`KEY_FILE` itself.
"""


@click.command()
@click.option("--write", type=click.Path(path_type=Path, dir_okay=False), help="Write the page to this file.")
@click.option("--check", type=click.Path(path_type=Path, dir_okay=False), help="Fail when this file is out of date.")
@reporting
def config(write: Path | None, check: Path | None) -> int:
    """Print every setting: name, default, bounds and what it does."""
    page = settings_page()
    if check:
        if not check.exists() or check.read_text(encoding="utf-8") != page:
            raise PreconditionFailed(
                "DOCS_OUT_OF_DATE", f"{check} is not what the settings say", f"run `citemesh config --write {check}`"
            )
    elif write:
        write.parent.mkdir(parents=True, exist_ok=True)
        write.write_text(page, encoding="utf-8")
    else:
        click.echo(page, nl=False)
    return 0


def settings_page() -> str:
    """The whole page."""
    shared, every = set(CommonSettings.model_fields), set(ServiceSettings.model_fields)
    parts = [_HEAD, "## Shared\n", _table(CommonSettings, shared)]
    parts += ["## Every service\n", _EVERY_SERVICE, _table(ServiceSettings, every - shared, "<SERVICE>_")]
    for service, cls in settings_by_service().items():
        parts += [f"## {service.capitalize()}\n", _table(cls, set(cls.model_fields) - every)]
    parts += ["## Command line\n", _table(CliSettings, set(CliSettings.model_fields) - shared)]
    return "\n".join(parts)


def _table(cls: type[CommonSettings], fields: Iterable[str], infix: str = "") -> str:
    names = set(fields)
    rows = [row for field, row in zip(cls.model_fields, table(cls), strict=True) if field in names]
    lines = ["| Variable | Default | Takes | What it does |", "| --- | --- | --- | --- |"]
    for variable, default, bounds, sentence in rows:
        name = f"CITEMESH_{infix}{variable.removeprefix('CITEMESH_')}" if infix else variable
        cells = (f"`{name}`", f"`{default}`" if default else "", bounds, sentence)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
