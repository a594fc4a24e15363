"""All services by their clients."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

import grpc

from citemesh.client.collections import CollectionClient
from citemesh.client.documents import DocumentClient
from citemesh.client.generation import GenerationClient
from citemesh.client.health import serving
from citemesh.client.query import QueryClient
from citemesh.client.reranker import RerankerClient
from citemesh.client.retrieval import RetrievalClient
from citemesh.client.tokenizer import TokenizerClient
from citemesh.client.transport.caller import Caller
from citemesh.client.transport.channel import open_channel
from citemesh.errors import InvalidInput


class Mesh:
    """Opens one channel a target, when it is first needed; an async context manager that closes them.

    Args:
        targets: gRPC address by service ("tokenizer", "retrieval", "generation", "reranker", "gateway").
        key: credential shown with every call; empty shows none.
        timeout_s: longest a unary call may take where its caller's own deadline isn't tighter.
        shards: over how many replicas retrieval's collections are spread; what concerns all is asked of each.
    """

    def __init__(self, targets: Mapping[str, str], key: str = "", timeout_s: float = 30.0, shards: int = 1) -> None:
        self._targets = dict(targets)
        self._key = key
        self._timeout_s = timeout_s
        self._shards = shards
        self._channels: dict[str, grpc.aio.Channel] = {}

    def channel(self, service: str) -> grpc.aio.Channel:
        """Returns the channel to a service. Raises InvalidInput where no target is set for it."""
        target = self._targets.get(service)
        if target is None:
            names = ", ".join(sorted(self._targets)) or "none"
            raise InvalidInput("targets", f"no target for {service}", f"targets are set for: {names}")
        if target not in self._channels:
            self._channels[target] = open_channel(target)
        return self._channels[target]

    def _caller(self, service: str) -> Caller:
        return Caller(self.channel(service), service, self._key, self._timeout_s)

    @property
    def tokenizer(self) -> TokenizerClient:
        """The tokenizer service."""
        return TokenizerClient(self._caller("tokenizer"))

    @property
    def retrieval(self) -> RetrievalClient:
        """Search in the retrieval service."""
        return RetrievalClient(self._caller("retrieval"))

    @property
    def documents(self) -> DocumentClient:
        """Documents of the retrieval service."""
        return DocumentClient(self._caller("retrieval"))

    @property
    def collections(self) -> CollectionClient:
        """Collections of the retrieval service."""
        return CollectionClient(self._caller("retrieval"), self._shards)

    @property
    def generation(self) -> GenerationClient:
        """The generation service."""
        return GenerationClient(self._caller("generation"))

    @property
    def reranker(self) -> RerankerClient:
        """The reranker service."""
        return RerankerClient(self._caller("reranker"))

    @property
    def query(self) -> QueryClient:
        """The gateway."""
        return QueryClient(self._caller("gateway"))

    async def serving(self, service: str, timeout_s: float = 2.0) -> bool:
        """Says whether the service's health is SERVING."""
        return await serving(self.channel(service), service, timeout_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for channel in self._channels.values():
            await channel.close(None)
        self._channels.clear()
