"""The bounded queue of one priority class."""

import asyncio
from collections import deque


class WaitingLine:
    """Callers that wait for a free slot, first come first served.

    Args:
        depth: most callers that may wait; 0 lets none.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._waiters: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._waiters)

    @property
    def full(self) -> bool:
        """Whether no one more may wait."""
        return len(self._waiters) >= self._depth

    def join(self) -> asyncio.Future[None]:
        """A place in the line; it completes when a slot is handed over."""
        place = asyncio.get_running_loop().create_future()
        self._waiters.append(place)
        return place

    def leave(self, place: asyncio.Future[None]) -> None:
        """Gives a place up."""
        place.cancel()
        if place in self._waiters:
            self._waiters.remove(place)

    def hand_over(self) -> bool:
        """Gives a slot to the first caller that is still there; False where there is none."""
        while self._waiters:
            place = self._waiters.popleft()
            if not place.done():
                place.set_result(None)
                return True
        return False
