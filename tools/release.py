"""Builds the wheel and the sdist, and tries the wheel in a clean environment.

    python tools/release.py [--out DIR]

The clean environment sees the dependencies of this one and nothing of the checkout: what the wheel lacks is found. It
has to name its version, print its help, and read the topology and the policies that it carries.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TRY = (
    "import cli.root, citemesh.mesh.topology as t; path = t.default_path(); t.load_topology();"
    "assert 'packaged' in path.parts, path; assert list((path.parents[1] / 'policies' / 'dist').glob('*.wasm'))"
)


def build(out: Path) -> Path:
    """Builds both; returns the wheel."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return max(out.glob("*.whl"), key=lambda wheel: wheel.stat().st_mtime)


def clean_environment(folder: Path, wheel: Path) -> Path:
    """A virtual environment with the wheel, and this environment's packages but for the checkout; its Python."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(command, check=True)
    site = next((folder / "lib").glob("python*/site-packages"))
    (site / "zz_dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    return python


def tried(python: Path, folder: Path) -> str:
    """What the installed command says of its version. Raises CalledProcessError where anything is missing."""
    for arguments in (["-c", TRY], ["-m", "cli", "--help"]):
        subprocess.run([str(python), "-I", *arguments], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    command = [str(python.parent / "citemesh"), "--version"]
    return subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True).stdout.strip()


def main() -> int:
    """Builds and tries; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the built files (%(default)s)")
    out = parser.parse_args().out
    wheel = build(out)
    with tempfile.TemporaryDirectory() as folder:
        version = tried(clean_environment(Path(folder) / "environment", wheel), Path(folder))
    print(f"{wheel}: {version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
