"""The peer's pipeline on models that need no weights, and what the bench reads out of an answer."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("haystack", reason="the bench extra is not installed")
pytest.importorskip("aiohttp", reason="the bench extra is not installed")

from aiohttp.test_utils import TestClient, TestServer
from haystack import component
from haystack.dataclasses import ChatMessage, StreamingChunk

from bench.peers.haystack_rag import app_of, filled, pipeline_of
from bench.side_by_side import Asked, Got

pytestmark = pytest.mark.slow  # what it imports takes seconds
TOLD = {"tokens": 7, "prompt_tokens": 40, "read_s": 0.5}
CORPUS = [
    {"id": "pump", "text": "Pump\nIt runs at 40 bar.", "metadata": {"title": "Pump"}},
    {"id": "whale", "text": "Whale\nIt lives in the sea.", "metadata": {"title": "Whale"}},
]


class Embedder:
    """Vectors by whether a text is about the pump."""

    def query(self, text: str) -> Any:
        return self.passages([text])

    def passages(self, texts: list[str]) -> Any:
        return np.array([[1.0, 0.1] if "bar" in text else [0.1, 1.0] for text in texts], np.float32)


@component
class Chat:
    """Says the prompt's length in two parts, or breaks."""

    def __init__(self, broken: bool = False) -> None:
        self.broken = broken
        self.seen: list[ChatMessage] = []

    @component.output_types(replies=list[ChatMessage])
    def run(
        self, messages: list[ChatMessage], streaming_callback: Callable[[StreamingChunk], None] | None = None
    ) -> dict[str, Any]:
        self.seen = messages
        if self.broken:
            raise RuntimeError("no model")
        assert streaming_callback
        for part in ("It runs at ", "40 bar [1]."):
            streaming_callback(StreamingChunk(content=part))
        return {
            "replies": [
                ChatMessage.from_assistant(
                    "It runs at 40 bar [1].", meta={"tokens": 7, "prompt_tokens": 40, "read_s": 0.5}
                )
            ]
        }


async def lines_of(chat: Any) -> list[dict[str, Any]]:
    app = app_of(pipeline_of(filled(Embedder(), CORPUS), Embedder(), chat), 1)
    async with TestClient(TestServer(app)) as client:
        response = await client.post("/ask", json={"question": "How many bar?"})
        return [json.loads(line) for line in (await response.text()).splitlines()]


async def test_the_pipeline_retrieves_numbers_its_sources_and_streams() -> None:
    chat = Chat()
    lines = await lines_of(chat)
    assert "".join(line.get("text", "") for line in lines) == "It runs at 40 bar [1]."
    assert lines[-1] == {"documents": ["pump", "whale"], "sources": ["pump"], **TOLD}
    system, user = (message.text or "" for message in chat.seen)
    assert "[1] Pump\nIt runs at 40 bar." in system and "Whale" not in system
    assert user.startswith("How many bar?\n")


async def test_a_pipeline_that_breaks_ends_its_answer() -> None:
    told = {"tokens": 0, "prompt_tokens": 0, "read_s": 0.0}
    assert (await lines_of(Chat(broken=True)))[-1] == {"documents": [], "sources": [], **told}


def test_an_answer_is_judged_by_its_evidence() -> None:
    asked = Asked("s", "How many bar?", ("40 bar",), frozenset({"pump", "manual"}))
    got = Got(1.0, 2.0, 9, ["pump", "whale"], [("It runs at 40 bar.", ("pump", "")), ("It swims.", ("whale",))])
    assert got.recall(asked) == 0.5
    assert [(one.cited, one.right) for one in got.ones(asked, False)] == [(2, 1), (1, 0)]
    assert [(one.cited, one.right) for one in got.ones(asked, True)] == [(2, 1)]
