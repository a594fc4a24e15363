"""A stand-in for an embedding service that speaks OpenAI's API, with faults on request."""

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from services.retrieval.embedding.fake import FakeEncoder

DIMENSION = 32
Answer = tuple[int, dict[str, str], bytes]
Fault = Callable[[dict[str, Any]], Answer]


class Standin(ThreadingHTTPServer):
    """Vectors of words, five times too long and in turned order; `faults` are answered first, one a call."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.faults: list[Fault] = []
        self.calls: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.base64 = False

    @property
    def base(self) -> str:
        """Base URL."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def vectors(self, body: dict[str, Any]) -> Answer:
        """What the API answers."""
        encoder = FakeEncoder(DIMENSION)
        made = encoder.embed(encoder.ids(body["input"], "passage")) * 5
        rows = [{"index": n, "object": "embedding", "embedding": self._shown(row)} for n, row in enumerate(made)]
        return ok({"object": "list", "model": body["model"], "data": rows[::-1]})

    def _shown(self, row: Any) -> Any:
        if self.base64:
            return base64.b64encode(np.asarray(row, "<f4").tobytes()).decode()
        return row.tolist()


class _Handler(BaseHTTPRequestHandler):
    server: Standin

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.calls.append({"path": self.path, **body})
        self.server.keys.append(self.headers.get("authorization", ""))
        fault = self.server.faults.pop(0) if self.server.faults else self.server.vectors
        status, headers, answer = fault(body)
        self.send_response(status)
        for name, value in {"content-length": str(len(answer)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments: Any) -> None:
        """Says nothing."""


def ok(value: object) -> Answer:
    """A JSON answer."""
    return 200, {"content-type": "application/json"}, json.dumps(value).encode()


def status(code: int, **headers: str) -> Fault:
    """Refuses with a status, and repeats what was sent, as some servers do."""
    return lambda body: (code, headers, json.dumps({"error": {"message": str(body["input"])}}).encode())


def slow(seconds: float) -> Fault:
    """Answers too late."""

    def answer(body: dict[str, Any]) -> Answer:
        time.sleep(seconds)
        return 200, {}, b"{}"

    return answer


def saying(answer: bytes) -> Fault:
    """Answers these bytes."""
    return lambda body: (200, {}, answer)


@contextmanager
def standin() -> Iterator[Standin]:
    """A running one."""
    server = Standin()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
