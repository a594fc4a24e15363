"""`citemesh …` with fake rooms in place of the apps: for tests that need `up` in a process of its own."""

import sys
from pathlib import Path

from citemesh.cli import main
from citemesh.cli.layout import Layout


def _command(self: Layout, room: str) -> list[str]:
    return [sys.executable, str(Path(__file__).parent / "fake_room.py"), room]


if __name__ == "__main__":
    Layout.app_command = _command  # type: ignore[method-assign]  # the point of this file
    main()
