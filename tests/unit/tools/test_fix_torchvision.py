"""The installation's check of torch's companions, on packages made here."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "tools" / "fix_torchvision.py"


def _run(python: str, path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script with `path` as the only place beside the standard library that packages come from."""
    command = [python, "-S", str(SCRIPT), *arguments]
    return subprocess.run(
        command, env={"PYTHONPATH": str(path)}, capture_output=True, text=True, timeout=120, check=False
    )


def _package(site: Path, name: str, source: str = "") -> None:
    (site / name).mkdir(parents=True)
    (site / name / "__init__.py").write_text(source)


def test_nothing_to_do_without_torch(tmp_path: Path) -> None:
    done = _run(sys.executable, tmp_path)
    assert (done.returncode, done.stdout) == (0, "torch is not installed: nothing to check\n")


def test_whole_companions_are_left(tmp_path: Path) -> None:
    _package(tmp_path, "torch")
    _package(tmp_path, "torchvision")
    done = _run(sys.executable, tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


def test_check_names_the_broken_and_fails(tmp_path: Path) -> None:
    _package(tmp_path, "torch")
    _package(tmp_path, "torchvision", "raise RuntimeError('operator torchvision::nms does not exist')")
    _package(tmp_path, "torchaudio")
    done = _run(sys.executable, tmp_path, "--check")
    assert done.returncode == 1
    assert "torchvision" in done.stdout
    assert "nms does not exist" in done.stdout
    assert "torchaudio" not in done.stdout


def test_broken_torch_is_reported_not_repaired(tmp_path: Path) -> None:
    _package(tmp_path, "torch", "import nosuchlibrary")
    done = _run(sys.executable, tmp_path)
    assert done.returncode == 1
    assert "nosuchlibrary" in done.stderr


def _wheel(directory: Path, name: str, source: str) -> Path:
    path = directory / f"{name}-0.0.1-py3-none-any.whl"
    information = f"{name}-0.0.1.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", source)
        wheel.writestr(f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.1\n")
        wheel.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(
            f"{information}/RECORD", f"{name}/__init__.py,,\n{information}/METADATA,,\n{information}/WHEEL,,\n"
        )
    return path


@pytest.mark.real
def test_broken_companions_are_uninstalled_once(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    sources = {"torch": "", "torchvision": "1 / 0", "torchaudio": "", "torchcodec": "raise OSError('no library')"}
    wheels = [str(_wheel(tmp_path, name, source)) for name, source in sources.items()]
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", *wheels], check=True, timeout=120)
    first = subprocess.run([python, str(SCRIPT)], capture_output=True, text=True, check=True, timeout=120)
    assert "removed torchvision" in first.stdout
    assert "removed torchcodec" in first.stdout
    second = subprocess.run([python, str(SCRIPT)], capture_output=True, text=True, check=True, timeout=120)
    assert second.stdout == ""
    subprocess.run([python, "-c", "import torch, torchaudio"], check=True, timeout=60)
