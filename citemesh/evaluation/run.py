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
from citemesh.evaluation.questions import EvaluationQuestion


class Answerer(Protocol):
    """Answers questions: `citemesh.client.query.QueryClient`."""

    def ask(self, question: Question, timeout_s: float = ...) -> AsyncIterator[AskEvent]:
        """Streams the events of an answer."""
        ...


@dataclass(frozen=True, slots=True)
class MeasuredAnswer:
    """A question, its outcome, and the value of each measure that applies to it."""

    question: EvaluationQuestion
    outcome: Outcome
    measures: dict[str, float]


async def evaluate(
    answerer: Answerer,
    questions: Sequence[EvaluationQuestion],
    form: Question,
    concurrency: int,
    timeout_s: float,
    done: Callable[[], None],
) -> tuple[MeasuredAnswer, ...]:
    """Asks all questions and returns their measured answers, in the same order.

    A question that fails counts as unanswered; the others go on.

    Args:
        form: how to ask; only its question is replaced.
        concurrency: most questions at once.
        timeout_s: seconds that one answer may take.
        done: called after each question.

    Raises:
        Unauthenticated: the key is refused, so that no question could be answered.
    """
    places = asyncio.Semaphore(concurrency)

    async def measure(question: EvaluationQuestion) -> MeasuredAnswer:
        async with places:
            outcome = await answer(answerer, replace(form, question=question.text), timeout_s)
        done()
        return MeasuredAnswer(question, outcome, measures(question, outcome))

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(measure(question)) for question in questions]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return tuple(task.result() for task in tasks)


async def answer(answerer: Answerer, question: Question, timeout_s: float) -> Outcome:
    """Asks one question and returns its outcome, an error of the mesh included. Raises Unauthenticated."""
    outcome, start_s = Outcome(), time.monotonic()
    try:
        async with aclosing(answerer.ask(question, timeout_s)) as events:  # type: ignore[type-var]  # an async generator
            async for event in events:
                outcome.take(event, time.monotonic() - start_s)
    except Unauthenticated:
        raise
    except CiteMeshError as error:
        outcome.error = f"{error.reason}: {error.message}"
        outcome.total_s = time.monotonic() - start_s
    return outcome
