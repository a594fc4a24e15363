"""Installs CiteMesh and what it needs into this interpreter's environment.

    python tools/install.py --extras all-cpu,dev

Where the lock fits (the default extras, Linux on x86-64, CPython 3.11), exactly what it names is installed, each file
checked by its hash. Elsewhere, or where an index lacks a locked file, pip resolves by pyproject.toml, which is said.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys

LOCKED_EXTRAS = "all-cpu,dev"
LOCK = "requirements/lock.txt"


def lock_fits(extras: str, system: str, machine: str, implementation: str, version: tuple[int, int]) -> bool:
    """Whether the lock was made for this installation."""
    here = (system, machine, implementation, version)
    return extras == LOCKED_EXTRAS and here == ("Linux", "x86_64", "CPython", (3, 11))


def pip(*arguments: str) -> bool:
    """Runs pip; whether it succeeded."""
    return subprocess.run([sys.executable, "-m", "pip", "install", "--progress-bar", "on", *arguments]).returncode == 0


def main() -> int:
    """Installs; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extras", default=LOCKED_EXTRAS, help="extras of pyproject.toml (%(default)s)")
    extras = parser.parse_args().extras
    here = (platform.system(), platform.machine(), platform.python_implementation(), sys.version_info[:2])
    if lock_fits(extras, *here):
        if pip("--no-deps", "--require-hashes", "-r", LOCK):
            return 0 if pip("--no-deps", "-e", ".") else 1
        print(f"\n{LOCK} can't be installed from this index; resolving by pyproject.toml instead\n", file=sys.stderr)
    if not pip("-e", f".[{extras}]"):
        return 1
    return subprocess.run([sys.executable, "tools/fix_torchvision.py"]).returncode


if __name__ == "__main__":
    sys.exit(main())
