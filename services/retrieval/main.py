"""Wires the retrieval service: settings, engine, embedding, ingestion, services."""

import asyncio
import logging
import sys
from contextlib import suppress

from citemesh.api.retrieval.v1 import collection_service_pb2_grpc as collections_grpc
from citemesh.api.retrieval.v1 import document_service_pb2_grpc as documents_grpc
from citemesh.api.retrieval.v1 import retrieval_service_pb2_grpc as search_grpc
from citemesh.client.mesh import Mesh
from citemesh.contract.bounds import DEFAULT_COLLECTION
from citemesh.cpu import usable_cores
from citemesh.errors import AlreadyExists, NotFound
from citemesh.kit.server import Registration, ServiceSpec, run_service
from services.retrieval.embedding.encoder import Encoder
from services.retrieval.embedding.queue import EmbeddingQueue, Load
from services.retrieval.engine import RetrievalEngine
from services.retrieval.engines.durable.index.kinds import IndexChoice
from services.retrieval.guard import GuardedEngine
from services.retrieval.ingestion.budget import Budget
from services.retrieval.ingestion.chunk.chunker import ChunkSize
from services.retrieval.ingestion.mesh_tokenizer import MeshTokenizer
from services.retrieval.ingestion.passage_tokens import NoTokenizer, PassageTokenizer, TokenFiller
from services.retrieval.ingestion.pipeline import Pipeline
from services.retrieval.ingestion.read.process.reader import DirectReader, DocumentReader, ProcessReader
from services.retrieval.ingestion.stream import IngestionStream
from services.retrieval.search.fusion import Weights
from services.retrieval.service import CollectionService, DocumentService, RetrievalService
from services.retrieval.settings import RetrievalSettings
from services.retrieval.types.collection import model_mismatch

log = logging.getLogger(__name__)
_API = "citemesh.api.retrieval.v1"


def build(settings: RetrievalSettings) -> ServiceSpec:
    """The service as the settings say; nothing is loaded or opened before it starts."""
    mesh = Mesh(settings.targets, _key(settings))
    tokenizer = MeshTokenizer(mesh) if "tokenizer" in settings.targets else NoTokenizer()
    parts = Parts(settings, engine_of(settings), tokenizer, mesh)
    return ServiceSpec("retrieval", registrations(parts, settings), parts.start, parts.stop, parts.healthy)


class Parts:
    """What the service is made of, and the order in which it starts and stops."""

    def __init__(
        self,
        settings: RetrievalSettings,
        engine: RetrievalEngine,
        tokenizer: PassageTokenizer,
        mesh: Mesh | None = None,
    ) -> None:
        self.engine = engine
        self.guarded = GuardedEngine(engine, settings.shard)
        self._shard = settings.shard
        self.embeddings = EmbeddingQueue(lambda: encoder_of(settings), load_of(settings))
        self.tokens = TokenFiller(engine, tokenizer, settings.tokens_interval_s)
        self.reader = reader_of(settings)
        self._mesh = mesh
        self.pipeline = Pipeline(self.guarded, self.reader, self.embeddings, self.tokens, size_of(settings))
        budget = Budget(settings.documents_at_once, settings.documents_mib << 20)
        self.stream = IngestionStream(self.pipeline, budget, settings.most_document_mib << 20, settings.idle_s)

    async def start(self) -> None:
        """Opens the store and loads the model side by side; makes the default collection in an empty store."""
        started = await asyncio.gather(self.engine.open(), self.embeddings.start(), return_exceptions=True)
        if failure := next((it for it in started if isinstance(it, BaseException)), None):
            raise failure
        await self._default_collection()
        self.tokens.start()

    async def _default_collection(self) -> None:
        loaded = self.embeddings.encoder.embedding
        try:
            kept = await self.engine.embedding(DEFAULT_COLLECTION)
        except NotFound:
            if self._shard is None:  # of several replicas one holds it, and only the mesh knows which
                with suppress(AlreadyExists):  # another replica on the same Milvus may have been first
                    await self.engine.create(DEFAULT_COLLECTION, loaded)
            return
        if kept != loaded:
            log.warning("%s", model_mismatch(DEFAULT_COLLECTION, kept, loaded))

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


def registrations(parts: Parts, settings: RetrievalSettings) -> list[Registration]:
    """The service's gRPC services."""
    search = RetrievalService(parts.guarded, parts.embeddings, settings.search_timeout_s)
    documents = DocumentService(parts.guarded, parts.stream, settings.max_message_mib << 20)
    collections = CollectionService(parts.guarded, parts.embeddings)
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


def engine_of(settings: RetrievalSettings) -> RetrievalEngine:
    """The engine that the settings name."""
    weights = Weights(settings.dense_weight, 1 - settings.dense_weight)
    if settings.engine == "fake":
        from services.retrieval.engines.fake import FakeRetrievalEngine

        return FakeRetrievalEngine(weights, settings.near_duplicate)
    if settings.engine == "milvus":
        return _milvus(settings, weights)
    from services.retrieval.engines.durable.engine import DurableEngine

    return DurableEngine(
        settings.state_dir / ("store" if settings.shard is None else f"store-{settings.shard}"),
        weights,
        settings.candidates,
        settings.snapshot_after,
        index=index_of(settings),
        index_threads=settings.index_threads,
        near_duplicate=settings.near_duplicate,
        lexical_postings=settings.lexical_postings,
        search_threads=settings.search_threads or usable_cores(),
    )


def _milvus(settings: RetrievalSettings, weights: Weights) -> RetrievalEngine:
    from services.retrieval.engines.milvus.engine import MilvusEngine

    path = settings.milvus_token_file
    return MilvusEngine(
        settings.milvus_uri or str(settings.state_dir / "store" / "milvus.db"),
        path.read_text(encoding="utf-8").strip() if path else "",
        settings.milvus_prefix,
        weights,
        settings.candidates,
        settings.near_duplicate,
    )


def index_of(settings: RetrievalSettings) -> IndexChoice:
    """The index that the settings describe."""
    return IndexChoice(
        kind=settings.index_kind,
        flat_up_to=settings.index_flat_up_to,
        hnsw_up_to=settings.index_hnsw_up_to,
        factory=settings.index_factory,
        links=settings.index_links,
        ef_construction=settings.index_ef_construction,
        ef_search=settings.index_ef_search,
        probes=settings.index_probes,
        gpu=settings.index_device == "gpu",
    )


def encoder_of(settings: RetrievalSettings) -> Encoder:
    """The embedding model that the settings name, loaded. Takes seconds; a first time up to a minute."""
    if settings.embedding_engine == "fake":
        from services.retrieval.embedding.fake import FakeEncoder

        return FakeEncoder()
    if settings.embedding_engine == "openai":
        return _endpoint(settings)
    from citemesh.models import prepare

    model = prepare(settings.embedding_model, settings.models_dir.expanduser())
    if settings.embedding_engine == "onnx":
        from services.retrieval.embedding.onnx_encoder import OnnxEncoder

        return OnnxEncoder(model, settings.threads)
    from services.retrieval.embedding.torch_encoder import TorchEncoder

    return TorchEncoder(model, settings.device, settings.embedding_precision, settings.threads)


def _endpoint(settings: RetrievalSettings) -> Encoder:
    from services.retrieval.embedding.endpoint import Address
    from services.retrieval.embedding.openai_encoder import Counter, OpenAiEncoder, Prefixes

    counter: Counter | None = None
    if settings.embedding_tokenizer:
        from citemesh.models import prepare
        from services.retrieval.embedding.model_tokens import ModelTokens

        counter = ModelTokens(prepare(settings.embedding_tokenizer, settings.models_dir.expanduser()))
    path = settings.embedding_key_file
    key = path.read_text(encoding="utf-8").strip() if path else ""
    address = Address(
        settings.embedding_url,
        settings.embedding_model,
        settings.embedding_dimension,
        key,
        settings.embedding_timeout_s,
    )
    return OpenAiEncoder(address, Prefixes(settings.embedding_query_prefix, settings.embedding_passage_prefix), counter)


def load_of(settings: RetrievalSettings) -> Load:
    """How much is embedded at once. On a CPU every core takes passages, and gives way to whoever waits."""
    workers = settings.embedding_workers or (usable_cores() if settings.device == "cpu" else 1)
    return Load(
        batch_tokens=settings.batch_tokens,
        workers=workers,
        cached_queries=settings.cached_queries,
        token_vectors=settings.token_vectors,
        unreadable_share=settings.unreadable_share,
    )


def size_of(settings: RetrievalSettings) -> ChunkSize:
    """How documents are cut, as the settings say."""
    if settings.chunking == "structure":
        return ChunkSize(settings.chunk_tokens, settings.chunk_overlap)
    overlap = int(settings.window_tokens * settings.window_overlap)
    return ChunkSize(settings.window_tokens, overlap, sliding=True, read_at_once=settings.chunk_tokens)


def reader_of(settings: RetrievalSettings) -> DocumentReader:
    """The reader of documents that the settings name."""
    if settings.readers == 0:
        return DirectReader()
    return ProcessReader(settings.readers, settings.reader_memory_mib, settings.reader_timeout_s)


def main() -> int:
    """Serves until told to stop; returns the exit status."""
    return run_service(RetrievalSettings, build)


def _key(settings: RetrievalSettings) -> str:
    return settings.key_file.read_text(encoding="utf-8").strip() if settings.key_file else ""


if __name__ == "__main__":
    sys.exit(main())
