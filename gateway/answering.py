"""The gateway's one way to answer, whatever transport asks: admission, then the flow, with the caller's context."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Sequence
from dataclasses import replace

from opentelemetry import trace

from citemesh.client.types import AskEvent, Question, SearchFilter, Source
from citemesh.contract.bounds import DEFAULT_RESULTS, MOST_SOURCES
from citemesh.errors import DeadlineExceeded, InvalidInput
from citemesh.kit import call_context
from gateway.admission.router import Admission, Priority
from gateway.query.answers.stream import events
from gateway.query.answers.transcript import Emit
from gateway.query.deadline import Deadline
from gateway.query.flow import Flow
from gateway.query.question import check
from gateway.threads.owner import current_owner

EVERYTHING = SearchFilter()
tracer = trace.get_tracer("citemesh.gateway")


class Answering:
    """Answers questions within the current call's deadline and priority (see citemesh.kit.call_context).

    Args:
        timeout_s: time that a question gets where its caller sets no tighter limit.
    """

    def __init__(self, flow: Flow, admission: Admission, timeout_s: float) -> None:
        self._flow = flow
        self._admission = admission
        self._timeout_s = timeout_s

    def ask(self, question: Question) -> AsyncGenerator[AskEvent]:
        """Streams an answer; closing the stream ends the work in every service.

        Raises, when iterated, what Flow.ask raises, and Overloaded where there is no place in the queue.
        """

        async def work(emit: Emit) -> None:
            await self._ask(question, emit)

        return events(work)

    async def _ask(self, question: Question, emit: Emit) -> None:
        check(question)
        if call_context.current().skip_cache:
            question = replace(question, skip_cache=True)
        priority = Priority(call_context.current_priority())
        ends = Deadline.after(call_context.remaining_s(self._timeout_s))
        with tracer.start_as_current_span("citemesh.ask") as span:
            span.set_attribute("citemesh.priority", priority.name.lower())
            async with self._admission.admit(priority, ends.remaining()) as waited_s:
                span.set_attribute("citemesh.queue_wait_ms", round(waited_s * 1000, 3))
                await _within(ends, self._flow.ask(question, ends, emit, waited_s, current_owner()))

    async def search(
        self,
        query: str,
        collection: str = "",
        top_k: int = 0,
        source_types: Sequence[str] = (),
        filter: SearchFilter = EVERYTHING,
        more_collections: Sequence[str] = (),
    ) -> tuple[Source, ...]:
        """The passages that an answer would be made of, best first. Raises as ``ask`` does."""
        question = Question(
            query,
            collection,
            source_types=tuple(source_types),
            filter=filter,
            more_collections=tuple(more_collections),
        )
        check(question, "query")
        if not 0 <= top_k <= MOST_SOURCES:
            raise InvalidInput("top_k", f"is {top_k}", f"use 1 to {MOST_SOURCES}, or 0 for {DEFAULT_RESULTS}")
        with tracer.start_as_current_span("citemesh.search"):
            ends = Deadline.after(call_context.remaining_s(self._timeout_s))
            return await self._flow.search(question, top_k or DEFAULT_RESULTS, ends)


async def _within(ends: Deadline, work: Coroutine[None, None, None]) -> None:
    """Ends the work at the deadline, also where it stands still because no one reads what it sends."""
    try:
        async with asyncio.timeout(ends.remaining()):
            await work
    except TimeoutError:
        raise DeadlineExceeded("the answer was being made", "allow more time, or read faster") from None
