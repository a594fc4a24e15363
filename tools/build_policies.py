"""Builds the WASM policies reproducibly: `python tools/build_policies.py [--check]`.

Every crate of `policies/` that makes a `cdylib` becomes `policies/dist/<name>-<sha12>.wasm`, named by
the first twelve digits of its SHA-256. Debian's Rust is used, by its full path, because the bytes
depend on the compiler; a newer Rust earlier on PATH would build other ones.

Exit status: 0 all is as it should be, 1 the build failed or `--check` found other bytes, 2 no toolchain.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

POLICIES = Path(__file__).resolve().parent.parent / "policies"
TARGET = "wasm32-unknown-unknown"
CARGO, RUSTC, LINKER = Path("/usr/bin/cargo"), Path("/usr/bin/rustc"), Path("/usr/bin/wasm-ld")
STD = Path("/usr/lib/rustlib") / TARGET
ABSENT = "Debian's Rust is absent ({missing}); apt-get install rustc cargo libstd-rust-dev-wasm32 lld"
# A VM that wants more than this is broken; it traps instead of taking the host's memory.
MAX_MEMORY = 64 * 1024 * 1024


class BuildFailed(Exception):
    """Cargo's own words."""


def missing_toolchain() -> list[str]:
    """Paths of Debian's Rust that are not there."""
    return [str(path) for path in (CARGO, RUSTC, LINKER, STD) if not path.exists()]


def environment(workspace: Path, target_dir: Path) -> dict[str, str]:
    """The build's environment: nothing of the caller's Rust settings, no path in the bytes."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CARGO", "RUST"))}
    flags = [
        *("-C", "linker=wasm-ld"),
        *("-C", f"link-arg=--max-memory={MAX_MEMORY}"),
        f"--remap-path-prefix={workspace}=/src",
    ]
    # Encoded, so that a directory with a space in its name is one flag.
    ours = {"RUSTC": str(RUSTC), "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags)}
    return kept | ours | {"CARGO_TARGET_DIR": str(target_dir)}


def policy_names(workspace: Path) -> list[str]:
    """The workspace's crates that are policies."""
    manifests = (tomllib.loads(path.read_text()) for path in sorted(workspace.glob("*/Cargo.toml")))
    return [m["package"]["name"] for m in manifests if "cdylib" in m.get("lib", {}).get("crate-type", [])]


def build(workspace: Path) -> dict[str, bytes]:
    """The bytes of every policy, by name. Raises BuildFailed."""
    with tempfile.TemporaryDirectory(prefix="policies-") as scratch:
        target_dir = Path(scratch)
        command = [str(CARGO), "build", "--release", "--offline", "--locked", "--target", TARGET]
        surroundings = environment(workspace, target_dir)
        run = subprocess.run(command, cwd=workspace, env=surroundings, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise BuildFailed(run.stderr)
        made = target_dir / TARGET / "release"
        return {name: (made / f"{name}.wasm").read_bytes() for name in policy_names(workspace)}


def file_name(name: str, code: bytes) -> str:
    """`<name>-<sha12>.wasm`: another text means another name, so that a reload is seen."""
    return f"{name}-{hashlib.sha256(code).hexdigest()[:12]}.wasm"


def versions(dist: Path, name: str) -> list[Path]:
    """The files of this policy in `dist`."""
    form = re.compile(rf"{re.escape(name)}-[0-9a-f]{{12}}\.wasm")
    return sorted(path for path in dist.glob("*.wasm") if form.fullmatch(path.name))


def install(dist: Path, built: Mapping[str, bytes]) -> None:
    """Puts the new files in place, then removes the older ones of the same names."""
    dist.mkdir(exist_ok=True)
    for name, code in built.items():
        path = dist / file_name(name, code)
        aside = path.with_suffix(".tmp")
        aside.write_bytes(code)
        aside.replace(path)
        for old in versions(dist, name):
            if old != path:
                old.unlink()
        print(f"{path.name}: {len(code)} bytes")


def differences(dist: Path, built: Mapping[str, bytes]) -> list[str]:
    """What `dist` has other than a fresh build."""
    found = []
    for name, code in built.items():
        wanted = dist / file_name(name, code)
        names = [path.name for path in versions(dist, name)]
        if names != [wanted.name]:
            found.append(f"{name}: a build gives {wanted.name}, committed is {', '.join(names) or 'nothing'}")
        elif wanted.read_bytes() != code:
            found.append(f"{wanted.name}: the bytes are not those of its name")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Builds, and installs or compares. Returns the exit status."""
    parser = argparse.ArgumentParser(description="Build the WASM policies with Debian's Rust.")
    parser.add_argument("--check", action="store_true", help="compare with policies/dist, change nothing")
    check = parser.parse_args(arguments).check
    if missing := missing_toolchain():
        print(ABSENT.format(missing=", ".join(missing)), file=sys.stderr)
        return 2
    try:
        built = build(POLICIES)
    except BuildFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    if not check:
        install(POLICIES / "dist", built)
        return 0
    found = differences(POLICIES / "dist", built)
    print("\n".join([*found, "run `make policies` and commit"] if found else ["policies are as built"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
