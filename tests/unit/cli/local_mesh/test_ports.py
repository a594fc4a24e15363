"""Ports, and who has them."""

import os
import socket

import pytest

from citemesh.errors import PreconditionFailed
from cli.local_mesh.ports import check_ports, holder, why_taken


def test_a_taken_port_is_told_with_its_holder() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        assert holder(port) == (os.getpid(), open("/proc/self/comm").read().strip())  # noqa: SIM115 - a pseudo file
        with pytest.raises(
            PreconditionFailed, match=rf"port {port} \(door\) is taken by process {os.getpid()}"
        ) as told:
            check_ports({"door": port})
        assert "--port-base" in told.value.remedy
    assert why_taken(port) == ""


def test_nobody_holds_a_free_port() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
    assert holder(port) is None
