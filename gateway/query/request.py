"""One question as the flow works on it."""

from collections.abc import Sequence
from dataclasses import dataclass

from citemesh.client.types import Question
from gateway.query.deadline import Deadline
from gateway.query.plan.plan import Plan
from gateway.query.plan.standalone import Exchange
from gateway.threads.owner import NOBODY, Owner


@dataclass(frozen=True, slots=True)
class Request:
    """A question that was checked, and what it came with.

    Attributes:
        plan: the stand-alone question and its first search.
        history: what was said before, oldest first.
        cites: whether sentences are going to be checked against what is found.
    """

    question: Question
    plan: Plan
    deadline: Deadline
    owner: Owner = NOBODY
    history: Sequence[Exchange] = ()
    cites: bool = True
