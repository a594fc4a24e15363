"""Whether ports are free and, where not, who has them."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

from citemesh.errors import PreconditionFailed

_LISTEN = "0A"
"""TCP_LISTEN in /proc/net/tcp, see proc_pid_net(5)."""


def check_ports(ports: Mapping[str, int], host: str = "127.0.0.1") -> None:
    """All free, or an error that names the first taken one and its holder.

    Raises:
        PreconditionFailed: a port is taken, or this user may not listen there.
    """
    for user, port in ports.items():
        if fault := why_taken(port, host):
            remedy = "stop what listens there, or choose other ports with --port-base"
            raise PreconditionFailed("PORT_TAKEN", f"port {port} ({user}) {fault}", remedy)


def why_taken(port: int, host: str = "127.0.0.1") -> str:
    """Why a port can't be listened on; empty when it can."""
    with socket.socket() as probe:
        # As servers do: a port whose last connection is only just over is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except PermissionError:
            return "is not allowed for this user"
        except OSError:
            return f"is taken{_by(holder(port))}"
    return ""


def holder(port: int) -> tuple[int, str] | None:
    """(pid, name) of the process that listens on a port, where the system tells (Linux, own processes)."""
    inodes = {inode for file in ("tcp", "tcp6") for inode in _listeners(Path("/proc/net") / file, port)}
    if not inodes:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        if _has_socket(process, inodes):
            return int(process.name), _name(process)
    return None


def _by(holder: tuple[int, str] | None) -> str:
    return f" by process {holder[0]} ({holder[1]})" if holder else " by another process"


def _listeners(table: Path, port: int) -> list[str]:
    try:
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return []
    return [row[9] for row in rows if row[3] == _LISTEN and int(row[1].rsplit(":", 1)[1], 16) == port]


def _has_socket(process: Path, inodes: set[str]) -> bool:
    links = {f"socket:[{inode}]" for inode in inodes}
    try:
        return any(link.readlink().as_posix() in links for link in (process / "fd").iterdir())
    except OSError:  # another user's, or gone
        return False


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return "?"
