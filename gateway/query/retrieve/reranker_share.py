"""Which model judges passages, asked of the reranker now and then: what it has no use for is not sent to it."""

import asyncio
import logging
import math
import time
from collections.abc import Callable

from citemesh.client.types import Judge
from citemesh.errors import CiteMeshError
from gateway.query.ports import RerankerPort

log = logging.getLogger(__name__)
KEEP_S = 15.0
"""How long a reranker that was configured anew may go unnoticed."""
UNKNOWN_S = 5.0
WAIT_S = 1.0


class Judges:
    """Keeps what the reranker says of its model for a while. clock: seconds, of any beginning."""

    def __init__(self, reranker: RerankerPort, clock: Callable[[], float] = time.monotonic) -> None:
        self._reranker = reranker
        self._clock = clock
        self._judge: Judge | None = None
        self._until = -math.inf

    async def get(self) -> Judge | None:
        """The model; None where the reranker doesn't say, and then nothing may be left out."""
        now = self._clock()
        if now > self._until:
            self._judge = await self._ask()
            self._until = now + (UNKNOWN_S if self._judge is None else KEEP_S)
        return self._judge

    def forget(self) -> None:
        """Asks anew next time: the reranker failed, and may come back as another one."""
        self._until = -math.inf

    async def _ask(self) -> Judge | None:
        try:
            async with asyncio.timeout(WAIT_S):
                return await self._reranker.model()
        except (CiteMeshError, TimeoutError) as error:
            log.info("the reranker doesn't say which model judges: %s", error)
            return None
