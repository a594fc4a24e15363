"""What a machine is said to have and lack."""

import importlib.util
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

from citemesh.errors import PreconditionFailed
from cli.operations import checks


class NVMLError(Exception):
    """As pynvml's."""


def nvml(monkeypatch: pytest.MonkeyPatch, **functions: object) -> None:
    """Stands in for pynvml, which a machine without a GPU doesn't have."""
    module = SimpleNamespace(NVMLError=NVMLError, nvmlInit=lambda: None, **functions)
    monkeypatch.setitem(sys.modules, "pynvml", module)


def test_a_gpu_is_named_with_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml(
        monkeypatch,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(total=80 << 30),
        nvmlDeviceGetName=lambda handle: b"NVIDIA X",
        nvmlSystemGetDriverVersion=lambda: "570.1",
    )
    assert checks.gpu().found == "2 × NVIDIA X, 80 GiB, driver 570.1"


def test_no_gpu_is_no_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(index: int) -> None:
        raise NVMLError("not found")

    nvml(monkeypatch, nvmlDeviceGetHandleByIndex=fail)
    assert checks.gpu().verdict == "optional"


def test_the_first_lack_ends_the_start() -> None:
    good, note, lack = (checks.Check(kind, kind, "found", "do this") for kind in ("ok", "optional", "lack"))
    checks.require([good, note])
    with pytest.raises(PreconditionFailed, match="lack: found; do this"):
        checks.require([good, note, lack])


def test_a_full_disk_and_a_closed_directory_are_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks.disk(tmp_path / "not" / "yet", "state").verdict == "ok"
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "can't be written" in checks.disk(tmp_path, "state").found
    monkeypatch.undo()
    monkeypatch.setattr(checks, "DISK_BYTES", 1 << 60)
    assert checks.disk(tmp_path, "state").verdict == "lack"


def test_a_version_that_does_not_fit_is_a_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "version", lambda name: "0.1")
    gateway = next(check for check in checks.packages() if check.name == "packages: gateway")
    assert gateway.verdict == "lack"
    assert "starlette 0.1, but" in gateway.found


def test_either_the_cpu_or_the_gpu_extra_does(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"vllm": "0.33.0", "gguf": "1", "accelerate": "1", "pynvml": "1", "nvidia-ml-py": "1"}

    def look(name: str) -> str:
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(checks, "version", look)
    found = {check.name: check.verdict for check in checks.packages()}
    assert found["packages: generation-gpu"] == "ok"
    assert "packages: generation-cpu" not in found


def test_a_companion_that_cannot_be_imported_is_a_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name == "torchvision" else None)
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 1))
    broken = checks.torch_companions()
    assert broken.verdict == "lack"
    assert broken.found.startswith("torchvision can't be imported")
