"""The queues in front of an encoder: small batches, and queries beside passages, not behind them.

Queries have a thread of their own, and the threads of passages give way to it and to the rest of the machine. Both
queues are bounded: a query too many is refused, passages wait their turn.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from citemesh.errors import Overloaded, Unavailable
from services.retrieval.embedding.encoder import ChunkTokens, Encoder, Ids, LateEncoder, Role
from services.retrieval.embedding.lane import Lane
from services.retrieval.embedding.query_cache import CountQueries, QueryCache
from services.retrieval.threads import WorkerThreads
from services.retrieval.types.chunk import PackedTokenVectors, Vector

_PORTION = 256


@dataclass(frozen=True, slots=True)
class EmbeddingLimits:
    """How much is embedded at once.

    Attributes:
        batch_tokens: most tokens of a batch, with padding; of queries about so many.
        workers: batches of passages at once.
        nice: how much passages give way to the machine's other work: 0 not at all, 19 always.
        max_queries: queries that may wait; one more is refused.
        max_passages: passages that are in progress at once; more wait.
        window_s: how long a batch of queries is waited for where several wait already.
        cached_queries: queries whose vectors are stored.
        token_vectors: whether vectors of passages' tokens are made.
        unreadable_share: share of a text's characters over which the model lacks too many to read the text.
    """

    batch_tokens: int = 4096
    workers: int = 1
    nice: int = 10
    max_queries: int = 256
    max_passages: int = 1024
    window_s: float = 0.002
    cached_queries: int = 4096
    token_vectors: bool = True
    unreadable_share: float = 0.3


@dataclass(frozen=True, slots=True)
class _Query:
    """A query that waits. Its length estimates that of what the model sees, which is known only when its turn comes.

    It is cut into tokens by the thread that embeds it, since another change of thread takes longer than the cutting.
    """

    text: str

    def __len__(self) -> int:
        return 2 + (len(self.text) // 4 if self.text.isascii() else len(self.text))


_Embedded = tuple[Vector, float]
"""A query's vector, and the share of the query that the model can't read."""


class EmbeddingQueue:
    """Embeds queries and passages.

    Args:
        load: makes the model.
        count: told of every query that is looked up, and whether that cost nothing.
    """

    def __init__(
        self,
        load: Callable[[], Encoder],
        limits: EmbeddingLimits | None = None,
        count: CountQueries = lambda number, cached: None,
    ) -> None:
        self._load = load
        self._limits = limits or EmbeddingLimits()
        self._encoder: Encoder | None = None
        self._passage_slots = asyncio.Semaphore(self._limits.max_passages)
        batch = self._limits.batch_tokens
        self._queries: Lane[_Query, _Embedded] = Lane(
            "queries", self._embed_queries, 1, batch, 0, self._limits.window_s
        )
        self._passages: Lane[ChunkTokens | Ids, tuple[Vector, bytes]] = Lane(
            "passages", self._embed_passages, self._limits.workers, batch, self._limits.nice
        )
        self._cache: QueryCache[_Embedded] = QueryCache(self._embed, self._limits.cached_queries, count)
        self._threads = WorkerThreads(2, "embedding-tokens")

    async def start(self) -> None:
        """Loads the model, then embeds one query, so that the first real one finds everything warm."""
        self._encoder = await self._threads.run(self._load)
        self._queries.start()
        self._passages.start()
        await self._embed(["warm up"])

    async def stop(self) -> None:
        """Ends the threads; what waits is refused."""
        await self._queries.stop()
        await self._passages.stop()
        await self._threads.close()

    @property
    def encoder(self) -> Encoder:
        """The model. Raises Unavailable before it is loaded."""
        if self._encoder is None:
            raise Unavailable("the embedding model")
        return self._encoder

    @property
    def healthy(self) -> bool:
        """Whether the loops that feed the model run."""
        return self._queries.healthy and self._passages.healthy

    async def query(self, text: str) -> Vector:
        """Vector of a query, shape (dimension,), not to be written to. Raises Overloaded, Unavailable."""
        return (await self.queries([text]))[0]

    async def queries(self, texts: Sequence[str]) -> list[Vector]:
        """Vectors of queries, in their order, none to be written to. Raises Overloaded, Unavailable."""
        return [vector for vector, _ in await self._cached(texts)]

    async def readable(self, texts: Sequence[str]) -> list[Vector | None]:
        """As `queries`; None for a text that the model can't read, whose vector would mean nothing."""
        embedded = await self._cached(texts)
        return [vector if rate <= self._limits.unreadable_share else None for vector, rate in embedded]

    async def _cached(self, texts: Sequence[str]) -> list[_Embedded]:
        if not self.healthy:
            raise Unavailable("the embedding model")
        if self._queries.waiting >= self._limits.max_queries and any(text not in self._cache for text in texts):
            raise Overloaded("the queue of queries to embed", 1.0)
        return await self._cache.get_many(texts) if len(texts) > 1 else [await self._cache.get(text) for text in texts]

    async def passages(self, texts: Sequence[str]) -> Vector:
        """Vectors of passages, shape (len(texts), dimension). Raises Unavailable."""
        return (await self.chunks(texts, [len(text) for text in texts]))[0]

    async def chunks(self, texts: Sequence[str], lengths: Sequence[int]) -> tuple[Vector, list[PackedTokenVectors]]:
        """Vectors of chunks and of their own tokens. Raises Unavailable.

        Args:
            texts: chunks in their context, as they are embedded.
            lengths: how many characters at the end of each text are the chunk's own.

        Returns vectors of shape (len(texts), dimension), and token vectors that are empty where there are none.
        """
        vectors = np.empty((len(texts), self.encoder.embedding.dimension), np.float32)
        token_vectors = [PackedTokenVectors()] * len(texts)
        digest = self._late.token_vectors_digest if self._late else ""
        for start in range(0, len(texts), _PORTION):
            stop = start + _PORTION
            portion = await self._threads.run(self._items, texts[start:stop], lengths[start:stop])
            order = sorted(range(len(portion)), key=lambda at: len(portion[at]))  # like lengths pad each other little
            embedded = await asyncio.gather(*(self._passage(portion[at]) for at in order))
            for at, (vector, packed) in zip(order, embedded, strict=True):
                vectors[start + at] = vector
                token_vectors[start + at] = PackedTokenVectors(packed, digest) if packed else PackedTokenVectors()
        return vectors, token_vectors

    async def unreadable(self, texts: Sequence[str]) -> frozenset[int]:
        """Places of the passages that the model can't read: it lacks too many of their characters."""
        rates = await self._threads.run(self.encoder.unknown_rate, texts)
        return frozenset(at for at, rate in enumerate(rates) if rate > self._limits.unreadable_share)

    async def token_count(self, texts: Sequence[str], role: Role) -> int:
        """Tokens that the model sees of the texts, with its special ones and what its limit leaves."""
        return sum(map(len, await self._threads.run(self.encoder.ids, texts, role)))

    async def _embed(self, texts: Sequence[str]) -> list[_Embedded]:
        return await self._queries.run_many([_Query(text) for text in texts])

    async def _passage(self, item: ChunkTokens | Ids) -> tuple[Vector, bytes]:
        async with self._passage_slots:
            return await self._passages.run(item)

    @property
    def _late(self) -> LateEncoder | None:
        """The encoder where it makes token vectors and they are wanted."""
        encoder = self._encoder
        return encoder if self._limits.token_vectors and isinstance(encoder, LateEncoder) else None

    def _items(self, texts: Sequence[str], lengths: Sequence[int]) -> Sequence[ChunkTokens | Ids]:
        return self._late.tokens(texts, lengths) if self._late else self.encoder.ids(texts, "passage")

    def _embed_queries(self, batch: list[_Query]) -> Sequence[_Embedded]:
        texts = [query.text for query in batch]
        vectors = [vector.copy() for vector in self.encoder.embed(self.encoder.ids(texts, "query"))]
        for vector in vectors:  # copied, as a kept one must not keep its batch
            vector.setflags(write=False)
        return list(zip(vectors, self.encoder.unknown_rate(texts), strict=True))

    def _embed_passages(self, batch: list[ChunkTokens | Ids]) -> Sequence[tuple[Vector, bytes]]:
        """All of a batch are of one kind: the encoder's."""
        if self._late:
            vectors, packed = self._late.embed_tokens([tokens for tokens in batch if isinstance(tokens, ChunkTokens)])
            return list(zip(vectors, packed, strict=True))
        vectors = self.encoder.embed([ids for ids in batch if not isinstance(ids, ChunkTokens)])
        return [(vector, b"") for vector in vectors]
