"""Ports for a mesh of a test's own."""

import socket

from citemesh.mesh.topology import load_topology


def free_base() -> int:
    """A port base at which all of a mesh's ports are free just now."""
    topology = load_topology()
    offsets = [port for s in topology.sidecars() for port in (s.ports.ingress, s.ports.egress)]
    for _ in range(100):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            base = int(probe.getsockname()[1])
        if base + max(offsets) < 65_535 and all(_free(base + offset) for offset in offsets):
            return base
    raise RuntimeError("no free range of ports")


def _free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
