"""Asking, and gathering what comes back."""

import time
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass, field

from citemesh.client import Mesh
from citemesh.client.types import (
    AskEvent,
    CitationEvent,
    DeltaEvent,
    DoneEvent,
    IngestProgress,
    Question,
    Source,
    SourcesEvent,
    Upload,
)


@dataclass
class Answer:
    """Everything one Ask told, in order."""

    events: list[AskEvent] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, DeltaEvent))

    @property
    def deltas(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, DeltaEvent)]

    @property
    def citations(self) -> list[CitationEvent]:
        return [event for event in self.events if isinstance(event, CitationEvent)]

    @property
    def sources(self) -> tuple[Source, ...]:
        return next((event.sources for event in self.events if isinstance(event, SourcesEvent)), ())

    @property
    def done(self) -> DoneEvent:
        last = self.events[-1]
        assert isinstance(last, DoneEvent), f"the stream ended with {type(last).__name__}"
        return last


async def ask(client: Mesh, question: str, timeout_s: float = 120.0, **more: object) -> Answer:
    """One question, to its end; answered anew unless the question says that a kept answer will do."""
    answer = Answer()
    more = {"skip_cache": True, **more}
    start = time.monotonic()
    async with aclosing(client.query.ask(Question(question, **more), timeout_s)) as events:  # type: ignore[arg-type, type-var]
        async for event in events:
            answer.events.append(event)
    answer.seconds = time.monotonic() - start
    return answer


async def ingest(client: Mesh, uploads: Iterable[Upload]) -> dict[str, IngestProgress]:
    """Takes documents in; the last word on each, by correlation id."""
    last: dict[str, IngestProgress] = {}
    async for progress in client.documents.ingest(list(uploads)):
        last[progress.correlation_id] = progress
    return last
