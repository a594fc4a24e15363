"""What came of a question."""

from dataclasses import dataclass, field

from citemesh.client.types import Source, Usage
from gateway.query.retrieve.search import Sequences


@dataclass(frozen=True, slots=True)
class Written:
    """How the text came about: by a model's name, or by quoting ("extractive"), and how it ended."""

    finish: str = "complete"
    mode: str = "generated"
    model: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that was sent.

    Attributes:
        searches: how many were made for it.
        sequences: by collection, the last change that its searches saw; None where they saw different ones.
        cached: whether it was kept from an earlier question.
        earlier_notice: what was said of that one.
    """

    written: Written
    sources: tuple[Source, ...] = ()
    searches: int = 0
    sequences: Sequences | None = None
    cached: bool = False
    earlier_notice: str = ""
