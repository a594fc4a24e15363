"""What checking costs: the steps of real answers, asked through the gateway's ingress."""

import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from citemesh.client.query import QueryClient
from citemesh.client.types import DeltaEvent, DoneEvent, Question

ASK_S = 120.0


@dataclass(frozen=True, slots=True)
class Spent:
    """One answer's seconds: all, in checks (beside the writing, or after it), and from its last text to its end."""

    total_s: float
    checks_s: float
    after_s: float
    written: bool
    sentences: int


async def spent(query: QueryClient, collection: str, questions: Sequence[str]) -> list[Spent]:
    """Asks one question at a time; the first is to warm up and isn't counted."""
    found = [await _one(query, Question(text, collection, skip_cache=True)) for text in questions]
    return found[1:]


async def _one(query: QueryClient, question: Question) -> Spent:
    started = last = time.perf_counter()
    done, sentences = None, 0
    async with aclosing(query.ask(question, ASK_S)) as events:  # type: ignore[type-var]  # an async generator
        async for event in events:
            if isinstance(event, DeltaEvent):
                last = time.perf_counter()
            sentences += type(event).__name__ == "CitationEvent"
            done = event
    ended = time.perf_counter()
    assert isinstance(done, DoneEvent)
    checks_s = done.timings.get("cite", 0.0) / 1000
    return Spent(ended - started, checks_s, ended - last, done.mode == "generated", sentences)
