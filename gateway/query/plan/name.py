"""A name that may bridge to the next search."""

from collections.abc import Iterable
from dataclasses import dataclass

from citemesh.client.types import Passage


@dataclass(frozen=True, slots=True)
class Name:
    """How well what is said of a name fits the question, and the passage that says it."""

    text: str
    fit: float
    passage: Passage


def best_first(candidates: Iterable[Name]) -> list[Name]:
    """Each name once, as where it fits best, and without those that fit nothing; longer names first among equals."""
    best: dict[str, Name] = {}
    for name in candidates:
        key = name.text.casefold()
        if name.fit > 0 and (key not in best or best[key].fit < name.fit):
            best[key] = name
    return sorted(best.values(), key=lambda name: (-name.fit, -len(name.text.split()), name.text))
