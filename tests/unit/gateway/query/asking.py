"""Asks the flow over fakes."""

import asyncio

from citemesh.client.types import AskEvent, Question
from gateway.query.deadline import Deadline
from gateway.query.flow import Flow
from gateway.query.limits import Limits
from tests.unit.gateway.query.fakes import LIMITS, Mesh

ASKED = "At what pressure does the pump run?"


async def said_by(flow: Flow, question: str | Question = ASKED, seconds: float = 30.0) -> list[AskEvent]:
    """The events of an answer."""
    said: list[AskEvent] = []

    async def emit(event: AskEvent) -> None:
        said.append(event)

    asked = Question(question) if isinstance(question, str) else question
    async with asyncio.timeout(10):
        await flow.ask(asked, Deadline.after(seconds), emit)
    return said


async def ask(
    mesh: Mesh, question: str | Question = ASKED, seconds: float = 30.0, limits: Limits = LIMITS
) -> list[AskEvent]:
    """The events of an answer by a new flow."""
    return await said_by(Flow(mesh.services, limits), question, seconds)
