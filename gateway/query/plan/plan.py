"""Which searches answer a question."""

from collections.abc import Sequence
from dataclasses import dataclass

from citemesh.client.types import PlanEvent


@dataclass(frozen=True, slots=True)
class Plan:
    """The stand-alone question and one query a hop."""

    question: str
    hops: tuple[str, ...]

    def event(self) -> PlanEvent:
        """What callers are told of it."""
        return PlanEvent(self.question, self.hops)


def first_plan(question: str, hints: Sequence[str] = ()) -> Plan:
    """Plans one hop with a question that stands alone, and with names that it may mean as well."""
    return Plan(question, (" ".join([question, *hints]),))


def tidy(question: str) -> str:
    """A question without runs of white space, which are no part of it."""
    return " ".join(question.split())
