"""The engine that the settings name."""

from citemesh.cpu import usable_cores
from services.retrieval.engine import RetrievalEngine
from services.retrieval.engines.durable.index.kinds import IndexChoice
from services.retrieval.search.fusion import Weights
from services.retrieval.settings import RetrievalSettings


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
