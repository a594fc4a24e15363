"""The time that one question has."""

import asyncio
from dataclasses import dataclass

from citemesh.errors import DeadlineExceeded


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the event loop's clock, in seconds."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """So many seconds from now."""
        return cls(asyncio.get_running_loop().time() + seconds)

    def remaining(self) -> float:
        """Seconds left; below 0 when it passed."""
        return self.at - asyncio.get_running_loop().time()

    def check(self, doing: str) -> None:
        """Raises DeadlineExceeded when it passed."""
        if self.remaining() <= 0:
            raise DeadlineExceeded(doing, "give the call more time")
