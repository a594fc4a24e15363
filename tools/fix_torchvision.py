"""Remove the torch companions that cannot be imported beside the installed torch.

The CPU build of vLLM pins `torch==…+cpu` but leaves torchvision, torchaudio and torchcodec unpinned. An installer that
reaches PyTorch's own CPU index picks matching builds and nothing needs doing; one that only reaches a general registry
picks builds made for another torch, whose import raises — and with it the import of transformers and vLLM, which take
an installed companion for a usable one. All three are optional for text models, so a broken one is removed.

Each companion is tried in a process of its own; only one whose import fails is uninstalled, so running this again, or
on an installation that was right from the start, changes nothing. Exit status: 0 when every remaining companion can be
imported and torch (if installed) too, 1 otherwise.

    python tools/fix_torchvision.py            # check and repair this interpreter's environment
    python tools/fix_torchvision.py --check    # only say what is broken
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys

COMPANIONS = ("torchvision", "torchaudio", "torchcodec")
IMPORT_LIMIT_S = 180
UNINSTALL_LIMIT_S = 120


def is_installed(module: str) -> bool:
    """Says whether `module` can be found, without importing it."""
    return importlib.util.find_spec(module) is not None


def import_fault(module: str) -> str | None:
    """Import `module` in a fresh interpreter; return the last line of its error, or None when it imports."""
    command = [sys.executable, "-c", f"import {module}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=IMPORT_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"import took longer than {IMPORT_LIMIT_S} s"
    if done.returncode == 0:
        return None
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"


def uninstall(module: str) -> bool:
    """Uninstall `module` with this interpreter's pip; return whether it is gone."""
    command = [sys.executable, "-m", "pip", "uninstall", "--yes", "--quiet", module]
    subprocess.run(command, timeout=UNINSTALL_LIMIT_S, check=False)
    importlib.invalidate_caches()
    return not is_installed(module)


def broken_companions() -> dict[str, str]:
    """Returns the installed companions that cannot be imported, with the fault of each."""
    faults = {module: import_fault(module) for module in COMPANIONS if is_installed(module)}
    return {module: fault for module, fault in faults.items() if fault is not None}


def repair(check_only: bool) -> int:
    """Checks torch, then remove (or only name) its broken companions; return the exit status."""
    if not is_installed("torch"):
        print("torch is not installed: nothing to check")
        return 0
    if fault := import_fault("torch"):
        print(f"torch itself cannot be imported ({fault}): reinstall it before its companions", file=sys.stderr)
        return 1
    left = 0
    for module, fault in broken_companions().items():
        print(f"{module} cannot be imported beside this torch ({fault})")
        if check_only or not uninstall(module):
            left += 1
        else:
            print(f"  removed {module}: text models do without it")
    return 1 if left else 0


def main() -> int:
    """Parses the command line and run."""
    parser = argparse.ArgumentParser(description="Remove torch companions that cannot be imported.")
    parser.add_argument("--check", action="store_true", help="only report; exit 1 when one is broken")
    return repair(parser.parse_args().check)


if __name__ == "__main__":
    raise SystemExit(main())
