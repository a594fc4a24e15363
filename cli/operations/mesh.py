"""`citemesh mesh render | validate | status`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from citemesh.errors import PreconditionFailed
from citemesh.mesh.identity import identity_config
from citemesh.mesh.policy import identity_filter
from citemesh.mesh.render import COMMITTED, check_committed, write_committed
from citemesh.mesh.status import SidecarStatus, mesh_status
from citemesh.mesh.topology import default_path
from citemesh.mesh.validate import validate_all
from cli.local_mesh.keys import Keyring
from cli.local_mesh.layout import Layout, StackOptions
from cli.local_mesh.runtime import find_running
from cli.terminal.connect import json_option, reporting, settings_for, state_dir_option
from cli.terminal.terminal import console


@click.group()
def mesh() -> None:
    """Render, check and look at the mesh."""


@mesh.command()
@click.option("--check", is_flag=True, help="Change nothing; fail when the rendering is out of date.")
@reporting
def render(check: bool) -> int:
    """Turn deploy/mesh.yaml into deploy/envoy/ and deploy/k8s/."""
    root = default_path().parents[1]
    if check:
        if difference := check_committed(root):
            click.echo(difference, nl=False)
            raise PreconditionFailed(
                "RENDERING_OUT_OF_DATE", f"{COMMITTED} is not what deploy/mesh.yaml says", "run `citemesh mesh render`"
            )
        return 0
    for path in write_committed(root):
        click.echo(path.relative_to(root))
    return 0


@mesh.command()
@state_dir_option
@reporting
def validate(state_dir: Path | None) -> int:
    """Let Envoy itself judge every sidecar's configuration, with the policy and this machine's keys inside."""
    settings = settings_for(state_dir)
    layout = Layout(
        StackOptions(
            settings.state_dir,
            settings.port_base,
            otlp_endpoint=settings.otlp_endpoint,
            origins=settings.http_origins,
        )
    )
    config = Keyring(settings.state_dir).load()
    identity = identity_filter(layout.placement, identity_config(config.keys, config.allow, config.public))
    verdicts = validate_all(layout.topology, layout.placement, {"identity": identity})
    for service, verdict in verdicts.items():
        click.echo(f"{service}: {'valid' if verdict.ok else verdict.message}")
    if not all(verdict.ok for verdict in verdicts.values()):
        raise PreconditionFailed("CONFIGURATION_REFUSED", "Envoy refuses a configuration", "correct deploy/mesh.yaml")
    return 0


@mesh.command()
@state_dir_option
@json_option
@reporting
def status(state_dir: Path | None, as_json: bool) -> int:
    """Show how each sidecar is: its app, its listeners, the policy it runs. Exit status 1 unless all are ready."""
    settings = settings_for(state_dir)
    running = find_running(settings.state_dir)
    if not running.mesh:
        raise PreconditionFailed("NO_SIDECARS", "this mesh runs without sidecars", "start it without --no-mesh")
    layout = Layout(StackOptions(settings.state_dir, running.port_base))
    statuses = mesh_status(layout.topology, layout.placement)
    if as_json:
        for sidecar in statuses:
            click.echo(json.dumps(asdict(sidecar)))
    else:
        console().print(_table(statuses))
    return 0 if all(sidecar.ready and sidecar.clusters.get("app") for sidecar in statuses) else 1


def _table(statuses: Sequence[SidecarStatus]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("sidecar", "state", "app", "listens", "policy", "refused"):
        table.add_column(column)
    for sidecar in statuses:
        table.add_row(
            sidecar.service,
            _mark(sidecar.ready, "ready", "not ready"),
            _mark(sidecar.clusters.get("app", False), "healthy", "unhealthy") if not sidecar.fault else Text("?"),
            ", ".join(f"{name} {address}" for name, address in sidecar.listeners.items()) or sidecar.fault,
            _policy(sidecar),
            str(sidecar.policy_failures),
        )
    return table


def _policy(sidecar: SidecarStatus) -> Text:
    if sidecar.policy_live == sidecar.policy_file:
        return Text(sidecar.policy_live or "none")
    return Text(f"{sidecar.policy_live or 'none'}, not the file's {sidecar.policy_file or 'none'}", style="yellow")


def _mark(good: bool, yes: str, no: str) -> Text:
    return Text(yes, style="green") if good else Text(no, style="bold red")
