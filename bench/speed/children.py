"""Programs that a bench starts, and how much memory they hold."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.common.corpus import ROOT
from citemesh.errors import PreconditionFailed

STOP_S = 20.0
_LAST_LINES = 15


async def output_of(module: str, arguments: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
    """Runs a module to its end; answers the JSON object that it says. Raises PreconditionFailed where it fails."""
    process = await asyncio.create_subprocess_exec(
        *_command(module, arguments), env=_environment(env), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    try:
        said, _ = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise PreconditionFailed("BENCH_CHILD", f"{module} ended with {process.returncode}", "its words are above")
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found


@asynccontextmanager
async def running(
    module: str, arguments: Sequence[str], env: Mapping[str, str], log: Path
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A module that runs until the end of the context; it writes to the log."""
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            *_command(module, arguments), env=_environment(env), cwd=ROOT, stdout=file, stderr=file
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                async with asyncio.timeout(STOP_S):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


def require_running(process: asyncio.subprocess.Process, log: Path) -> None:
    """Raises PreconditionFailed, with the end of its log, where a program has ended."""
    if process.returncode is not None:
        lines = log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        raise PreconditionFailed("BENCH_CHILD", f"it ended with {process.returncode}:\n" + "\n".join(lines), "")


def resident_bytes(pid: int) -> int:
    """Memory that a process holds alone (anonymous pages)."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def disk_bytes(folder: Path) -> int:
    """What the files of a folder take."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _command(module: str, arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", module, *arguments]


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CITEMESH_")}
    return kept | {"TOKENIZERS_PARALLELISM": "false", **env}
