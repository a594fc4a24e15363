"""Routes each call to its priority class and each free slot to the most urgent caller."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from enum import IntEnum

from opentelemetry import metrics

from citemesh.errors import DeadlineExceeded, Overloaded
from gateway.admission.queue import WaitingLine

_meter = metrics.get_meter("citemesh.gateway")
_depth = _meter.create_up_down_counter("citemesh.queue.depth", description="Questions that wait, by priority class.")
_wait = _meter.create_histogram("citemesh.queue.wait", unit="s", description="Time in the queue, by priority class.")
_drops = _meter.create_counter("citemesh.drops", description="Questions that were not taken, by reason.")

SMOOTHING = 0.2
"""Weight of the newest service time in the running mean."""
LEAST_RETRY_S = 0.1


class Priority(IntEnum):
    """Classes of calls; lower is more urgent."""

    INTERACTIVE = 0
    BATCH = 1
    BACKGROUND = 2


class Admission:
    """Lets so many answers run at once, and so many callers of each class wait.

    Args:
        slots: answers that run at once.
        depths: callers that may wait, by class.
    """

    def __init__(self, slots: int, depths: Mapping[Priority, int]) -> None:
        self._slots = slots
        self._running = 0
        self._lines = {priority: WaitingLine(depths[priority]) for priority in Priority}
        self._service_s = 0.0

    @asynccontextmanager
    async def admit(self, priority: Priority, time_left_s: float) -> AsyncIterator[float]:
        """Holds a slot within the block; yields the seconds waited for it.

        Raises Overloaded at once where the line is full or so long that the deadline would pass in it, and
        DeadlineExceeded where it passes all the same.
        """
        waited = await self._enter(priority, time_left_s)
        start_s = asyncio.get_running_loop().time()
        try:
            yield waited
        finally:
            self._learn(asyncio.get_running_loop().time() - start_s)
            self._free()

    async def _enter(self, priority: Priority, time_left_s: float) -> float:
        if self._running < self._slots:
            self._running += 1
            return 0.0
        self._refuse_hopeless(priority, time_left_s)
        start_s = asyncio.get_running_loop().time()
        await self._wait(priority, time_left_s)
        waited = asyncio.get_running_loop().time() - start_s
        _wait.record(waited, {"class": priority.name.lower()})
        return waited

    def _refuse_hopeless(self, priority: Priority, time_left_s: float) -> None:
        expected = self.expected_wait_s(priority)
        if self._lines[priority].full:
            _drops.add(1, {"reason": "full"})
            raise Overloaded(f"the queue for {priority.name.lower()} questions", max(expected, LEAST_RETRY_S))
        if expected > time_left_s:
            _drops.add(1, {"reason": "hopeless"})
            resource = f"the queue for {priority.name.lower()} questions, for a deadline in {time_left_s:.1f} s,"
            raise Overloaded(resource, max(expected - time_left_s, LEAST_RETRY_S), "allow more time, or retry later")

    async def _wait(self, priority: Priority, time_left_s: float) -> None:
        line = self._lines[priority]
        place = line.join()
        labels = {"class": priority.name.lower()}
        _depth.add(1, labels)
        try:
            async with asyncio.timeout(time_left_s):
                await place
        except BaseException as error:
            self._give_up(line, place)
            if isinstance(error, TimeoutError):
                _drops.add(1, {"reason": "deadline"})
                raise DeadlineExceeded("the question waited in the queue") from None
            _drops.add(1, {"reason": "left"})
            raise
        finally:
            _depth.add(-1, labels)

    def _give_up(self, line: WaitingLine, place: asyncio.Future[None]) -> None:
        """Leaves the line; a slot that was handed over at the same moment goes to the next."""
        if place.done() and not place.cancelled():
            self._free()
        else:
            line.leave(place)

    def _free(self) -> None:
        """Hands the slot to the most urgent caller that waits."""
        if not any(self._lines[priority].hand_over() for priority in Priority):
            self._running -= 1

    def _learn(self, seconds: float) -> None:
        self._service_s = seconds if not self._service_s else (1 - SMOOTHING) * self._service_s + SMOOTHING * seconds

    def expected_wait_s(self, priority: Priority) -> float:
        """Seconds until a caller of this class would get a slot: those before it, by the mean service time."""
        if self._running < self._slots:
            return 0.0
        before = sum(len(self._lines[other]) for other in Priority if other <= priority)
        return (before + 1) * self._service_s / self._slots

    @property
    def waiting(self) -> int:
        """Callers that wait now."""
        return sum(map(len, self._lines.values()))

    @property
    def running(self) -> int:
        """Answers that run now."""
        return self._running
