"""`citemesh policy push | key`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from citemesh.errors import InvalidInput, PreconditionFailed
from citemesh.mesh import identity
from citemesh.mesh.identity import IdentityConfig, identity_config
from citemesh.mesh.push import PushReport, push_identity
from citemesh.mesh.topology import load_topology
from cli.local_mesh.keys import TENANT, Keyring, summary, user_methods
from cli.local_mesh.layout import Layout, StackOptions
from cli.local_mesh.runtime import find_running
from cli.terminal.connect import json_option, reporting, settings_for, state_dir_option
from cli.terminal.terminal import console


@click.group()
def policy() -> None:
    """Change keys and policy code of the running mesh, without dropping a call."""


@policy.command()
@click.option(
    "--config", "config_file", type=click.Path(path_type=Path, dir_okay=False), help="Identity configuration."
)
@click.option("--wasm", type=click.Path(path_type=Path, dir_okay=False), help="Identity policy to run.")
@state_dir_option
@json_option
@reporting
def push(config_file: Path | None, wasm: Path | None, state_dir: Path | None, as_json: bool) -> int:
    """Put a policy live: this machine's keys and code unless others are named.

    Envoy judges it first; what it refuses is not tried on any sidecar, and the old policy stays. A configuration that
    went live is kept for the next start.
    """
    settings = settings_for(state_dir)
    keyring = Keyring(settings.state_dir)
    config = _read(config_file) if config_file else keyring.load()
    report = push_live(settings.state_dir, config, wasm)
    if config_file and report.ok:
        keyring.save(config)
    _tell(report, as_json)
    return 0 if report.ok else 1


@policy.group()
def key() -> None:
    """Make, show and remove API keys."""


@key.command()
@click.argument("subject")
@click.option("--tenant", default=TENANT, show_default=True, help="Whose data the key belongs to.")
@click.option(
    "--method", "methods", multiple=True, help="Call pattern, may be repeated (default: what a user may call)."
)
@click.option(
    "--collections",
    default="*",
    show_default=True,
    help="What it may reach: names or beginnings of names, with commas between, as notes,team-*.",
)
@state_dir_option
@json_option
@reporting
def add(
    subject: str, tenant: str, methods: tuple[str, ...], collections: str, state_dir: Path | None, as_json: bool
) -> int:
    """Make a key for SUBJECT and print it, this once. A running mesh takes it at once."""
    settings = settings_for(state_dir)
    patterns = methods or user_methods(load_topology())
    scope = tuple(name.strip() for name in collections.split(","))
    text, config = Keyring(settings.state_dir).add(subject, tenant, patterns, scope)
    if as_json:
        line = {"key": text, "id": text.split("_")[1], "subject": subject, "tenant": tenant, "collections": scope}
        click.echo(json.dumps(line))
    else:
        click.echo(text)
    return _push_if_running(settings.state_dir, config, as_json)


@key.command(name="list")
@state_dir_option
@json_option
@reporting
def list_keys(state_dir: Path | None, as_json: bool) -> int:
    """Show the keys; their texts are not kept."""
    records = Keyring(settings_for(state_dir).state_dir).load().keys
    if as_json:
        for record in records:
            click.echo(json.dumps(summary(record)))
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("id", "subject", "tenant", "collections", "may call"):
        table.add_column(column)
    for record in records:
        collections = "\n".join(record.collections)
        table.add_row(record.id, record.subject, record.tenant, collections, "\n".join(record.methods))
    console().print(table)
    return 0


@key.command()
@click.argument("key_id", metavar="ID")
@state_dir_option
@json_option
@reporting
def remove(key_id: str, state_dir: Path | None, as_json: bool) -> int:
    """Remove a key. A running mesh refuses it from then on."""
    settings = settings_for(state_dir)
    config = Keyring(settings.state_dir).remove(key_id)
    return _push_if_running(settings.state_dir, config, as_json)


def push_live(state_dir: Path, config: IdentityConfig, wasm: Path | None = None) -> PushReport:
    """Pushes a configuration, and code where named, to the mesh that runs in a state directory.

    Raises:
        PreconditionFailed: none runs there, or it runs without sidecars.
        DeadlineExceeded, OSError: as `push_identity`.
    """
    running = find_running(state_dir)
    if not running.mesh:
        raise PreconditionFailed("NO_SIDECARS", "this mesh runs without sidecars", "start it without --no-mesh")
    layout = Layout(StackOptions(state_dir, running.port_base))
    guarded = [service.name for service in layout.topology.sidecars() if "identity" in service.policies]
    # A change of keys alone leaves the code that runs, which may have been pushed too.
    code = (
        wasm.absolute().as_posix() if wasm else _live_code(Path(layout.placement.policy_file(guarded[0], "identity")))
    )
    placement = replace(layout.placement, identity_wasm=code or layout.placement.identity_wasm)
    return push_identity(placement, guarded, identity_config(config.keys, config.allow, config.public))


def _live_code(document: Path) -> str:
    """Path of the code that a sidecar's policy document names; empty where it can't be read."""
    try:
        resource = yaml.safe_load(document.read_text(encoding="utf-8"))["resources"][0]
        return str(resource["typed_config"]["config"]["vm_config"]["code"]["local"]["filename"])
    except (OSError, yaml.YAMLError, LookupError, TypeError):
        return ""


def _push_if_running(state_dir: Path, config: IdentityConfig, as_json: bool) -> int:
    try:
        report = push_live(state_dir, config)
    except PreconditionFailed as error:
        if error.reason in ("MESH_NOT_RUNNING", "NO_SIDECARS"):
            return 0
        raise
    if not report.ok:
        _tell(report, as_json)
    return 0 if report.ok else 1


def _read(path: Path) -> IdentityConfig:
    try:
        return identity.load(path.read_bytes())
    except OSError as error:
        raise InvalidInput("--config", f"{path}: {error.strerror}", "name a readable file") from None


def _tell(report: PushReport, as_json: bool) -> None:
    if as_json:
        for outcome in report.services:
            line = {
                "service": outcome.service,
                "outcome": outcome.outcome,
                "reason": outcome.reason,
                "version": report.version,
            }
            click.echo(json.dumps(line))
        return
    out = Console(stderr=not report.ok, highlight=False, soft_wrap=True)
    for outcome in report.services:
        style = "green" if outcome.outcome == "live" else "bold red"
        out.print(
            Text.assemble(f"{outcome.service}: ", (outcome.outcome, style), f" {outcome.reason or report.version}")
        )
