"""Which searches answer a question. For now: one, with the question as it stands."""

from dataclasses import dataclass

from citemesh.client.types import PlanEvent, Question


@dataclass(frozen=True, slots=True)
class Plan:
    """The stand-alone question and one query a hop."""

    question: str
    hops: tuple[str, ...]

    def event(self) -> PlanEvent:
        """What callers are told of it."""
        return PlanEvent(self.question, self.hops)


def make_plan(question: Question) -> Plan:
    """Plans one hop; white space at the ends and runs of it are no part of a question."""
    text = " ".join(question.question.split())
    return Plan(text, (text,))
