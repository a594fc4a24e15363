"""What the tests of the HTTP ways in share: a record of what was asked, and bytes as they came."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from citemesh.client.types import AskEvent, DoneEvent, FollowUpsEvent, Question
from gateway.answering import Answering
from tests.contract.gateway.gateway_service import Running, transport_to

ASKED = "At what pressure does the pump run?"
MARKED = "The pump runs at 40 bar.[1] It was built in 1987.[2]"
MESSAGES: Any = [{"role": "user", "content": ASKED}]
URLS = [f"http://gateway/v1/documents/d{n}?collection=default" for n in (1, 2, 3)]
RELATED = ("Who built the pump?", "Does it need oil?")


@dataclass
class Asked:
    """The questions that reached the answering, as the ways in made them."""

    questions: list[Question] = field(default_factory=list)

    @property
    def last(self) -> Question:
        return self.questions[-1]


def recording(patch: pytest.MonkeyPatch) -> Asked:
    """Records every question. Related questions, which the few passages here leave none of, come where asked for."""
    asked, answered = Asked(), Answering.ask

    def ask(self: Answering, question: Question) -> AsyncGenerator[AskEvent]:
        asked.questions.append(question)
        return _with_related(answered(self, question), question.related_questions)

    patch.setattr(Answering, "ask", ask)
    return asked


async def _with_related(events: AsyncGenerator[AskEvent], most: int) -> AsyncGenerator[AskEvent]:
    async with aclosing(events):
        async for event in events:
            if most and isinstance(event, DoneEvent):
                yield FollowUpsEvent(RELATED[:most])
            if not isinstance(event, FollowUpsEvent):
                yield event


def over(running: Running) -> httpx.AsyncClient:
    """A client for the libraries that take one."""
    transport = transport_to(running.settings)
    return httpx.AsyncClient(transport=transport, base_url="http://gateway", timeout=20)


async def until(condition: Any, limit_s: float = 5.0) -> None:
    """Waits for a condition."""
    async with asyncio.timeout(limit_s):
        while not condition():
            await asyncio.sleep(0.01)


def sse(text: str) -> list[tuple[str, Any]]:
    """Server-sent events: their names and data, which is JSON but for the end's."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if fields:
            data = fields["data"]
            found.append((fields.get("event", ""), data if data == "[DONE]" else json.loads(data)))
    return found


class Pieces:
    """Chinese, an emoji of several code points and accents, as a model may part them."""

    DELTAS = ("泵在40巴", "下运行。", "The 👩‍🔬", " says: naïve ", "e\u0301.", " It was built in 1987.")
    TEXT = "".join(DELTAS)
