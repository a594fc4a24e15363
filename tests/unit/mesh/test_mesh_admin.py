"""The admin client against a stand-in: what it reads, and that trouble is an error within its timeout."""

from __future__ import annotations

import json
import socketserver
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from citemesh.errors import DeadlineExceeded, Unavailable
from citemesh.mesh.envoy.admin import Admin


class Answers(BaseHTTPRequestHandler):
    """Answers from the server's `answers`: path without its query to (status, body)."""

    def do_GET(self) -> None:
        self.server.asked.append((self.command, self.path))  # type: ignore[attr-defined]  # set by the fixture
        status, body = self.server.answers.get(self.path.split("?")[0], (404, b""))  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def address_string(self) -> str:
        return "unix"


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    answers: dict[str, tuple[int, bytes]]
    asked: list[tuple[str, str]]


@pytest.fixture
def server(short_dir: Path) -> Iterator[Server]:
    with Server(str(short_dir / "a.sock"), Answers) as running:
        running.answers, running.asked = {}, []
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield running
        running.shutdown()


def admin(server: Server) -> Admin:
    return Admin(str(server.server_address), timeout_s=1.0)


def test_ready_is_the_status(server: Server) -> None:
    server.answers["/ready"] = (503, b"INITIALIZING\n")
    assert admin(server).ready() is False
    server.answers["/ready"] = (200, b"LIVE\n")
    assert admin(server).ready() is True


def test_stats_are_numbers_and_texts_are_text(server: Server) -> None:
    stats = [{"name": "a.b", "value": 3}, {"name": "v", "value": "x"}, {"histograms": {}}]
    server.answers["/stats"] = (200, json.dumps({"stats": stats}).encode())
    assert admin(server).stats("^a") == {"a.b": 3}
    assert admin(server).texts() == {"v": "x"}
    assert "filter=%5Ea" in server.asked[0][1]


def test_a_cluster_is_healthy_when_a_host_is(server: Server) -> None:
    def host(**health: object) -> dict[str, object]:
        return {"health_status": {"eds_health_status": "HEALTHY", **health}}

    clusters = [
        {"name": "up", "host_statuses": [host(failed_active_health_check=True), host()]},
        {"name": "down", "host_statuses": [host(failed_active_health_check=True)]},
        {"name": "empty"},
    ]
    server.answers["/clusters"] = (200, json.dumps({"cluster_statuses": clusters}).encode())
    assert admin(server).clusters() == {"up": True, "down": False, "empty": False}


def test_drain_is_a_post(server: Server) -> None:
    server.answers["/drain_listeners"] = (200, b"OK\n")
    admin(server).drain()
    assert server.asked == [("POST", "/drain_listeners?graceful")]


@pytest.mark.parametrize("answer", [(500, b"{}"), (200, b"not json"), (200, b"[]"), (200, b"\xff")])
def test_an_odd_answer_is_unavailable(server: Server, answer: tuple[int, bytes]) -> None:
    server.answers["/stats"] = answer
    with pytest.raises(Unavailable, match="stats"):
        admin(server).stats()


def test_nobody_listens(short_dir: Path) -> None:
    with pytest.raises(Unavailable, match=r"none\.sock"):
        Admin(str(short_dir / "none.sock")).ready()


def test_silence_ends_at_the_timeout(short_dir: Path) -> None:
    with socketserver.UnixStreamServer(str(short_dir / "mute.sock"), Answers):  # accepts into its backlog only
        started = time.monotonic()
        with pytest.raises(DeadlineExceeded):
            Admin(str(short_dir / "mute.sock"), timeout_s=0.2).ready()
        assert time.monotonic() - started < 2
