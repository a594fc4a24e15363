"""The queue in front of an encoder: small batches, and queries before passages.

A query waits for at most the batch that runs, a few thousand tokens; passages fill what queries leave. Both queues are
bounded: a query too many is refused, passages wait for room.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from citemesh.errors import Overloaded, Unavailable
from services.retrieval.embedding.encoder import Encoder, Ids
from services.retrieval.engine import Vector

T = TypeVar("T")
_PORTION = 256


@dataclass(slots=True)
class _Waiting:
    ids: Ids
    vector: asyncio.Future[Vector] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class EmbeddingQueue:
    """Embeds queries and passages in one thread. `load` makes the model; batch_tokens bounds a batch with padding."""

    def __init__(
        self, load: Callable[[], Encoder], batch_tokens: int = 4096, max_queries: int = 256, max_passages: int = 1024
    ) -> None:
        self._load = load
        self._encoder: Encoder | None = None
        self._batch_tokens = batch_tokens
        self._max_queries = max_queries
        self._room = asyncio.Semaphore(max_passages)
        self._queries: deque[_Waiting] = deque()
        self._passages: deque[_Waiting] = deque()
        self._work = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embedding")
        self._cutting = ThreadPoolExecutor(2, thread_name_prefix="embedding-cutting")
        self._asking = ThreadPoolExecutor(1, thread_name_prefix="embedding-asking")
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Loads the model, then embeds one query, so that the first real one finds everything warm."""
        self._encoder = await asyncio.get_running_loop().run_in_executor(self._thread, self._load)
        self._task = asyncio.create_task(self._run())
        await self.query("warm up")

    async def stop(self) -> None:
        """Ends the thread; what waits is refused."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        for waiting in (*self._queries, *self._passages):
            waiting.vector.cancel()
        await asyncio.to_thread(self._thread.shutdown)
        await asyncio.to_thread(self._cutting.shutdown)
        await asyncio.to_thread(self._asking.shutdown)

    @property
    def encoder(self) -> Encoder:
        """The model. Raises Unavailable before it is loaded."""
        if self._encoder is None:
            raise Unavailable("the embedding model")
        return self._encoder

    @property
    def healthy(self) -> bool:
        """Whether the loop that feeds the model runs."""
        return self._task is not None and not self._task.done()

    async def query(self, text: str) -> Vector:
        """Vector of a query, shape (dimension,). Raises Overloaded, Unavailable."""
        if len(self._queries) >= self._max_queries:
            raise Overloaded("the queue of queries to embed", 1.0)
        (ids,) = await self._ids([text], query=True)
        return await self._embedded(self._queries, _Waiting(ids))

    async def passages(self, texts: Sequence[str]) -> Vector:
        """Vectors of passages, shape (len(texts), dimension). Raises Unavailable."""
        vectors = np.empty((len(texts), self.encoder.embedding.dimension), np.float32)
        for start in range(0, len(texts), _PORTION):
            portion = await self._ids(texts[start : start + _PORTION], query=False)
            order = sorted(range(len(portion)), key=lambda at: len(portion[at]))  # like lengths pad each other little
            found = await asyncio.gather(*(self._passage(portion[at]) for at in order))
            for at, vector in zip(order, found, strict=True):
                vectors[start + at] = vector
        return vectors

    async def in_thread(self, work: Callable[..., T], *arguments: object) -> T:
        """Runs work on passages beside the event loop; queries have a thread of their own."""
        return await asyncio.get_running_loop().run_in_executor(self._cutting, work, *arguments)

    async def _passage(self, ids: Ids) -> Vector:
        async with self._room:
            return await self._embedded(self._passages, _Waiting(ids))

    async def _embedded(self, queue: deque[_Waiting], waiting: _Waiting) -> Vector:
        if not self.healthy:
            raise Unavailable("the embedding model")
        queue.append(waiting)
        self._work.set()
        return await waiting.vector

    async def _ids(self, texts: Sequence[str], query: bool) -> list[Ids]:
        if not query:
            return await self.in_thread(self.encoder.ids, texts, "passage")
        return await asyncio.get_running_loop().run_in_executor(self._asking, self.encoder.ids, texts, "query")

    async def _run(self) -> None:
        while True:
            await self._work.wait()
            batch = self._next(self._queries) or self._next(self._passages)
            if not batch:
                self._work.clear()
                continue
            await self._embed(batch)

    async def _embed(self, batch: list[_Waiting]) -> None:
        loop = asyncio.get_running_loop()
        try:
            vectors = await loop.run_in_executor(self._thread, self.encoder.embed, [it.ids for it in batch])
        except Exception as error:
            for waiting in batch:
                if not waiting.vector.done():
                    waiting.vector.set_exception(error)
            return
        for waiting, vector in zip(batch, vectors, strict=True):
            if not waiting.vector.done():
                waiting.vector.set_result(vector)

    def _next(self, queue: deque[_Waiting]) -> list[_Waiting]:
        """The next batch, in the order of arrival. Callers that left are passed over."""
        batch: list[_Waiting] = []
        longest = 0
        while queue:
            if queue[0].vector.done():
                queue.popleft()
                continue
            longest = max(longest, len(queue[0].ids))
            if batch and longest * (len(batch) + 1) > self._batch_tokens:
                break
            batch.append(queue.popleft())
        return batch
