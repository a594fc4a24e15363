"""Where passages stand in a prompt: models read what stands in the middle of a long context least."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
FEW = 3


def edges_first(best_first: Sequence[T]) -> list[T]:
    """The best at the beginning, the second best at the end, and so on inwards; a few stay in their order."""
    if len(best_first) <= FEW:
        return list(best_first)
    return [*best_first[::2], *reversed(best_first[1::2])]
