"""`citemesh …` with fake services in place of the apps: for tests that need `up` in a process of its own."""

import sys
from pathlib import Path

from cli import main
from cli.local_mesh.layout import Layout


def _command(self: Layout, service: str) -> list[str]:
    return [sys.executable, str(Path(__file__).parents[1] / "fake_service.py"), service]


if __name__ == "__main__":
    Layout.app_command = _command  # type: ignore[method-assign]  # the point of this file
    main()
