"""A name that may bridge to the next search."""

from dataclasses import dataclass

from citemesh.client.types import Passage


@dataclass(frozen=True, slots=True)
class Name:
    """How well what is said of a name fits the question, and the passage that says it."""

    text: str
    fit: float
    passage: Passage
