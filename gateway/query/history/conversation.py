"""What a question continues: its thread, or the history that its caller sent along; and the turn that it adds."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from citemesh.client.types import Question, Source
from citemesh.errors import CiteMeshError, NotSupported
from gateway.query.answers.record import Record
from gateway.query.history.turns import recent, told
from gateway.query.plan.standalone import Exchange
from gateway.query.request import Request
from gateway.threads.owner import Owner
from gateway.threads.turn import Thread, Turn

log = logging.getLogger(__name__)
LAST_TURNS = 20


class ThreadsPort(Protocol):
    """Keeps threads; ThreadStore does."""

    async def require_space(self, owner: Owner, thread_id: str) -> None:
        """Checks that a thread takes one more turn. Raises NotFound, PreconditionFailed."""
        ...

    async def read(self, owner: Owner, thread_id: str, most: int | None = None) -> tuple[Thread, tuple[Turn, ...]]:
        """A thread and its last turns, oldest first. Raises NotFound."""
        ...

    async def append(self, owner: Owner, thread_id: str, turn: Turn) -> str:
        """Keeps a turn, in a new thread where no id is given; returns the thread's id."""
        ...


class Conversation:
    """Recalls and keeps.

    Args:
        threads: None where none are kept.
        tokens: budget of what is recalled.
    """

    def __init__(self, threads: ThreadsPort | None, tokens: int) -> None:
        self._threads = threads
        self._tokens = tokens

    async def recall(self, question: Question, owner: Owner) -> list[Exchange]:
        """What was said before, oldest first, within the budget.

        Raises NotFound for a thread that the owner doesn't have, PreconditionFailed for a full one, NotSupported where
        no threads are kept.
        """
        if (question.thread_id or question.start_thread) and self._threads is None:
            raise NotSupported("keeping threads", "send the history with each question")
        if question.thread_id and self._threads is not None:
            await self._threads.require_space(owner, question.thread_id)
            _, turns = await self._threads.read(owner, question.thread_id, LAST_TURNS)
            return recent([Exchange(turn.standalone, turn.answer) for turn in turns], self._tokens)
        return await asyncio.to_thread(lambda: recent(told(question.history), self._tokens))

    async def keep(self, request: Request, record: Record, sources: Sequence[Source]) -> str:
        """Keeps the answer as a turn; returns its thread, or "" where there is none or it couldn't be kept."""
        question = request.question
        if self._threads is None or not (question.thread_id or question.start_thread):
            return ""
        try:
            return await self._threads.append(request.owner, question.thread_id, turn_of(request, record, sources))
        except CiteMeshError as error:
            # The answer is on its way already; its reader is told.
            log.warning("a turn was not kept: %s", error)
            record.note("not_kept")
            return ""


def turn_of(request: Request, record: Record, sources: Sequence[Source]) -> Turn:
    """A question's turn: of its sources, those that are cited."""
    transcript = record.transcript
    cited = tuple(source for source in sources if source.number in transcript.cited)
    asked, standalone = request.question.question, request.plan.question
    return Turn(asked, standalone, transcript.text, datetime.now(UTC), cited, tuple(transcript.citations))


def questions_of(past: Sequence[Exchange]) -> list[str]:
    """What was asked before."""
    return [exchange.question for exchange in past]
