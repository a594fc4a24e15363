"""Memory for documents that are being ingested: whoever asks for more than is left waits, in the order of asking."""

import asyncio
from collections import deque


class Budget:
    """Bounds how many documents, and how many of their bytes, are worked on at once."""

    def __init__(self, documents: int, size_bytes: int) -> None:
        self._documents = documents
        self._bytes = size_bytes
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size_bytes: int) -> "Reservation":
        """Reserves memory for one document of so many bytes, at most the whole budget."""
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size_bytes, granted))
        self._grant()
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.give(1, size_bytes)
            raise
        return Reservation(self, size_bytes)

    def give(self, documents: int, size_bytes: int) -> None:
        """Gives memory back; a reservation does so."""
        self._documents += documents
        self._bytes += size_bytes
        self._grant()

    def _grant(self) -> None:
        while self._waiting:
            size_bytes, granted = self._waiting[0]
            if not granted.done():
                if self._documents <= 0 or size_bytes > self._bytes:
                    return
                self._documents -= 1
                self._bytes -= size_bytes
                granted.set_result(None)
            self._waiting.popleft()


class Reservation:
    """Memory reserved for one document."""

    def __init__(self, budget: Budget, size_bytes: int) -> None:
        self._budget = budget
        self._bytes = size_bytes

    def shrink(self, size_bytes: int) -> None:
        """Keeps only so many bytes, now that the document's size is known."""
        left_over = self._bytes - size_bytes
        self._bytes = size_bytes
        self._budget.give(0, left_over)

    def give_back(self) -> None:
        """Ends it."""
        self._budget.give(1, self._bytes)
