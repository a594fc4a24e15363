"""Ask Envoy itself whether a configuration is good, before anything runs on it."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from citemesh.errors import DeadlineExceeded
from citemesh.mesh.envoy.binary import find_envoy
from citemesh.mesh.envoy.bootstrap import bootstrap
from citemesh.mesh.envoy.types import Json
from citemesh.mesh.placement import Placement
from citemesh.mesh.text import to_yaml
from citemesh.mesh.topology import Topology


@dataclass(frozen=True, slots=True)
class Verdict:
    """Envoy's judgement; `message` is its own words when refused, else empty."""

    ok: bool
    message: str


def validate_all(topology: Topology, placement: Placement, inline: dict[str, Json]) -> dict[str, Verdict]:
    """Every service's bootstrap, policies put inline (validation follows no files).

    Raises:
        PreconditionFailed, DeadlineExceeded: as `validate`.
    """
    with tempfile.TemporaryDirectory(prefix="citemesh-validate-") as logs:
        # Envoy opens the access log even to validate; that is no reason to touch the real one.
        validation_placement = replace(placement, log_dir=logs)
        return {
            service.name: validate(bootstrap(service, topology, validation_placement, inline))
            for service in topology.sidecars()
        }


def validate(config: Json, timeout_s: float = 30.0) -> Verdict:
    """One configuration.

    Raises:
        PreconditionFailed: no Envoy here.
        DeadlineExceeded: Envoy did not come to an end in time.
    """
    with tempfile.TemporaryDirectory(prefix="citemesh-validate-") as directory:
        path = Path(directory) / "config.yaml"
        # Keys may be inside, though hashed: nobody else reads them.
        path.touch(mode=0o600)
        path.write_text(to_yaml(config), encoding="utf-8")
        return _run(path, timeout_s)


def _run(path: Path, timeout_s: float) -> Verdict:
    command = [
        str(find_envoy()),
        "--mode",
        "validate",
        "-c",
        str(path),
        "--disable-hot-restart",
        "-l",
        "warning",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise DeadlineExceeded(f"envoy --mode validate ({timeout_s:g} s)") from error
    return Verdict(True, "") if done.returncode == 0 else Verdict(False, _complaint(done.stderr + done.stdout, path))


def _complaint(output: str, path: Path) -> str:
    """The lines that say what is wrong, without Envoy's time stamps, source positions and our temporary
    file.
    """
    lines = [line.split("] ", 3)[-1].replace(f" '{path}'", "") for line in output.splitlines() if line.strip()]
    return "\n".join(dict.fromkeys(lines))[:4_000] or "Envoy refused it without a word"
