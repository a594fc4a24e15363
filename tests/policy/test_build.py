"""The committed files are what the sources give, whatever the directory; and the build script says so."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from tests.policy.policy_host import POLICIES, artefact


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_policies", POLICIES.parent / "tools" / "build_policies.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = _script()
MISSING = SCRIPT.missing_toolchain()
needs_rust = pytest.mark.skipif(bool(MISSING), reason=SCRIPT.ABSENT.format(missing=", ".join(MISSING)))


def test_the_name_is_the_digest() -> None:
    path = artefact("identity")
    assert path.name == f"identity-{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}.wasm"


def test_installing_replaces_the_older_file(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    SCRIPT.install(dist, {"identity": b"old", "identity-two": b"x"})
    SCRIPT.install(dist, {"identity": b"new"})
    names = {SCRIPT.file_name("identity", b"new"), SCRIPT.file_name("identity-two", b"x")}
    assert {path.name for path in dist.iterdir()} == names
    assert SCRIPT.differences(dist, {"identity": b"new", "identity-two": b"x"}) == []


def test_differences_are_told(tmp_path: Path) -> None:
    assert "committed is nothing" in SCRIPT.differences(tmp_path, {"identity": b"code"})[0]
    SCRIPT.install(tmp_path, {"identity": b"code"})
    assert "a build gives identity-" in SCRIPT.differences(tmp_path, {"identity": b"other"})[0]
    (tmp_path / SCRIPT.file_name("identity", b"code")).write_bytes(b"damaged")
    assert "the bytes are not those of its name" in SCRIPT.differences(tmp_path, {"identity": b"code"})[0]


@pytest.mark.parametrize(("built", "status"), [(artefact("identity").read_bytes(), 0), (b"other", 1)])
def test_check_compares(monkeypatch: pytest.MonkeyPatch, built: bytes, status: int) -> None:
    monkeypatch.setattr(SCRIPT, "missing_toolchain", list)
    monkeypatch.setattr(SCRIPT, "build", lambda workspace: {"identity": built})
    assert SCRIPT.main(["--check"]) == status


def test_an_absent_toolchain_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(SCRIPT, "CARGO", tmp_path / "cargo")
    assert SCRIPT.main(["--check"]) == 2
    assert "Debian's Rust is absent" in capsys.readouterr().err


@pytest.mark.real
@needs_rust
def test_two_directories_give_the_committed_bytes(tmp_path: Path) -> None:
    for name in ("a", "somewhere/much deeper/b"):
        workspace = tmp_path / name / "policies"
        shutil.copytree(POLICIES, workspace, ignore=shutil.ignore_patterns("dist", "target"))
        assert SCRIPT.differences(POLICIES / "dist", SCRIPT.build(workspace)) == [], name


@pytest.mark.real
@needs_rust
def test_the_rules_natively(tmp_path: Path) -> None:
    environment = SCRIPT.environment(POLICIES, tmp_path)
    del environment["CARGO_ENCODED_RUSTFLAGS"]
    command = [str(SCRIPT.CARGO), "test", "--offline", "--locked", "--package", "rules"]
    run = subprocess.run(command, cwd=POLICIES, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    passed = re.search(r"test result: ok\. (\d+) passed; 0 failed", run.stdout)
    assert passed and int(passed[1]) > 30, run.stdout
