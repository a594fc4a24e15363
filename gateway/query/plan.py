"""Which searches answer a question."""

from collections.abc import Sequence
from dataclasses import dataclass

from citemesh.client.types import PlanEvent
from gateway.query.standalone import Exchange, standalone


@dataclass(frozen=True, slots=True)
class Plan:
    """The stand-alone question and one query a hop."""

    question: str
    hops: tuple[str, ...]

    def event(self) -> PlanEvent:
        """What callers are told of it."""
        return PlanEvent(self.question, self.hops)


def make_plan(question: str, past: Sequence[Exchange] = ()) -> Plan:
    """Plans one hop with the question made stand-alone; runs of white space are no part of it."""
    text = standalone(" ".join(question.split()), past)
    return Plan(text, (text,))
