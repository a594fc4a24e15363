"""Asks the questions, several at once, and measures each answer."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from citemesh.client.types import AskEvent, Question
from citemesh.errors import CiteMeshError, Unauthenticated
from citemesh.evaluation.measures import measures
from citemesh.evaluation.outcome import Outcome
from citemesh.evaluation.questions import Asked


class Answerer(Protocol):
    """Answers questions: `citemesh.client.query.QueryClient`."""

    def ask(self, question: Question, timeout_s: float = ...) -> AsyncIterator[AskEvent]:
        """Streams an answer's events."""
        ...


@dataclass(frozen=True, slots=True)
class Judged:
    """A question, what came of it, and how good it is."""

    asked: Asked
    outcome: Outcome
    measures: dict[str, float]


async def evaluate(
    answerer: Answerer,
    questions: Sequence[Asked],
    form: Question,
    concurrency: int,
    timeout_s: float,
    done: Callable[[], None],
) -> tuple[Judged, ...]:
    """Judges of all questions, in their order. A question that fails is judged as unanswered, and the rest goes on.

    Args:
        form: how to ask; only its question is replaced.
        done: called after each question.

    Raises:
        Unauthenticated: the key is refused, so that no question could be answered.
    """
    places = asyncio.Semaphore(concurrency)

    async def judge(question: Asked) -> Judged:
        async with places:
            outcome = await answer(answerer, replace(form, question=question.question), timeout_s)
        done()
        return Judged(question, outcome, measures(question, outcome))

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(judge(question)) for question in questions]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return tuple(task.result() for task in tasks)


async def answer(answerer: Answerer, question: Question, timeout_s: float) -> Outcome:
    """What comes of one question. Raises Unauthenticated."""
    outcome, start_s = Outcome(), time.monotonic()
    try:
        async with aclosing(answerer.ask(question, timeout_s)) as events:  # type: ignore[type-var]  # it is an async generator
            async for event in events:
                outcome.take(event, time.monotonic() - start_s)
    except Unauthenticated:
        raise
    except CiteMeshError as error:
        outcome.error = f"{error.reason}: {error.message}"
        outcome.total_s = time.monotonic() - start_s
    return outcome
