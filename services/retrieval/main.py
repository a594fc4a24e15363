"""Wires the retrieval service: settings, engine, embedding, ingestion, services."""

import asyncio
import logging
import sys
from collections.abc import Callable
from contextlib import suppress

from citemesh.api.retrieval.v1 import collection_service_pb2_grpc as collections_grpc
from citemesh.api.retrieval.v1 import document_service_pb2_grpc as documents_grpc
from citemesh.api.retrieval.v1 import retrieval_service_pb2_grpc as search_grpc
from citemesh.client.mesh import Mesh
from citemesh.contract.bounds import DEFAULT_COLLECTION
from citemesh.errors import AlreadyExists, NotFound
from citemesh.kit.server import Registration, ServiceSpec, run_service
from services.retrieval import metrics
from services.retrieval.embedding.encoder import Encoder
from services.retrieval.embedding.queue import EmbeddingQueue
from services.retrieval.engine import RetrievalEngine
from services.retrieval.guard import GuardedEngine
from services.retrieval.ingestion.budget import Budget
from services.retrieval.ingestion.mesh_tokenizer import MeshTokenizer
from services.retrieval.ingestion.passage_tokens import NoTokenizer, PassageTokenizer, TokenFiller
from services.retrieval.ingestion.pipeline import Pipeline
from services.retrieval.ingestion.stream import IngestionStream
from services.retrieval.service import CollectionService, DocumentService, RetrievalService
from services.retrieval.settings import RetrievalSettings
from services.retrieval.types.collection import model_mismatch
from services.retrieval.wiring.embedding import encoder_of, limits_of
from services.retrieval.wiring.engine import engine_of
from services.retrieval.wiring.ingestion import chunk_size_of, reader_of

log = logging.getLogger(__name__)
_API = "citemesh.api.retrieval.v1"

MakeEncoder = Callable[[RetrievalSettings], Encoder]


def build(settings: RetrievalSettings, make_encoder: MakeEncoder = encoder_of) -> ServiceSpec:
    """The service as the settings say; nothing is loaded or opened before it starts."""
    mesh = Mesh(settings.targets, _key(settings))
    tokenizer = MeshTokenizer(mesh) if "tokenizer" in settings.targets else NoTokenizer()
    return service_of(RetrievalParts(settings, engine_of(settings), tokenizer, mesh, make_encoder), settings)


def service_of(parts: "RetrievalParts", settings: RetrievalSettings) -> ServiceSpec:
    """The service made of these parts."""
    return ServiceSpec("retrieval", registrations(parts, settings), parts.start, parts.stop, parts.healthy)


class RetrievalParts:
    """What the service is made of, and the order in which it starts and stops."""

    def __init__(
        self,
        settings: RetrievalSettings,
        engine: RetrievalEngine,
        tokenizer: PassageTokenizer,
        mesh: Mesh | None = None,
        make_encoder: MakeEncoder = encoder_of,
    ) -> None:
        self.engine = engine
        self.guarded = GuardedEngine(engine, settings.shard)
        self._shard = settings.shard
        self.embeddings = EmbeddingQueue(lambda: make_encoder(settings), limits_of(settings), metrics.count_queries)
        self.tokens = TokenFiller(engine, tokenizer, settings.tokens_interval_s)
        self.reader = reader_of(settings)
        self._mesh = mesh
        self.pipeline = Pipeline(self.guarded, self.reader, self.embeddings, self.tokens, chunk_size_of(settings))
        budget = Budget(settings.documents_at_once, settings.documents_mib << 20)
        self.stream = IngestionStream(self.pipeline, budget, settings.most_document_mib << 20, settings.idle_s)

    async def start(self) -> None:
        """Opens the store and loads the model side by side; makes the default collection in an empty store."""
        outcomes = await asyncio.gather(self.engine.open(), self.embeddings.start(), return_exceptions=True)
        if failure := next((outcome for outcome in outcomes if isinstance(outcome, BaseException)), None):
            raise failure
        await self._default_collection()
        self.tokens.start()

    async def _default_collection(self) -> None:
        loaded = self.embeddings.encoder.embedding
        try:
            fixed = await self.engine.embedding(DEFAULT_COLLECTION)
        except NotFound:
            if self._shard is None:  # of several replicas one holds it, and only the mesh knows which
                with suppress(AlreadyExists):  # another replica on the same Milvus may have been first
                    await self.engine.create(DEFAULT_COLLECTION, loaded)
            return
        if fixed != loaded:
            log.warning("%s", model_mismatch(DEFAULT_COLLECTION, fixed, loaded))

    async def stop(self) -> None:
        """Stops what feeds the store before the store."""
        await self.tokens.stop()
        await self.pipeline.close()
        await self.reader.close()
        await self.embeddings.stop()
        await self.engine.close()
        if self._mesh is not None:
            await self._mesh.__aexit__(None, None, None)

    async def healthy(self) -> bool:
        """Whether the model runs and the store answers."""
        return self.embeddings.healthy and await self.engine.healthy()


def registrations(parts: RetrievalParts, settings: RetrievalSettings) -> list[Registration]:
    """The service's gRPC services."""
    search = RetrievalService(parts.guarded, parts.embeddings, settings.search_timeout_s)
    documents = DocumentService(parts.guarded, parts.stream, settings.max_message_mib << 20)
    collections = CollectionService(parts.guarded, parts.guarded, parts.embeddings)
    return [
        Registration(
            f"{_API}.RetrievalService", lambda s: search_grpc.add_RetrievalServiceServicer_to_server(search, s)
        ),
        Registration(
            f"{_API}.DocumentService", lambda s: documents_grpc.add_DocumentServiceServicer_to_server(documents, s)
        ),
        Registration(
            f"{_API}.CollectionService",
            lambda s: collections_grpc.add_CollectionServiceServicer_to_server(collections, s),
        ),
    ]


def main() -> int:
    """Serves until told to stop; returns the exit status."""
    return run_service(RetrievalSettings, build)


def _key(settings: RetrievalSettings) -> str:
    return settings.key_file.read_text(encoding="utf-8").strip() if settings.key_file else ""


if __name__ == "__main__":
    sys.exit(main())
