"""The reranker's process: settings, engine, pool, service."""

import asyncio
import sys
from functools import partial
from typing import TYPE_CHECKING

from citemesh.api.reranker.v1 import reranker_service_pb2_grpc as pb_grpc
from citemesh.kit.server import Registration, ServiceSpec, run_service
from services.reranker.engine import RerankerEngine
from services.reranker.metrics import observe_cache, observe_queue
from services.reranker.pool import RerankerPool
from services.reranker.service import RerankerService
from services.reranker.settings import RerankerSettings

if TYPE_CHECKING:
    from services.reranker.engines.cross_encoder import Load

SERVICE = "citemesh.api.reranker.v1.RerankerService"


def build(settings: RerankerSettings) -> ServiceSpec:
    """Builds the service as the settings say; nothing is loaded before it starts."""
    return service_of(engine_of(settings), RerankerPool(settings.workers, settings.queue), settings)


def service_of(engine: RerankerEngine, pool: RerankerPool, settings: RerankerSettings) -> ServiceSpec:
    """Builds the service around an engine and the pool that runs it."""
    observe_queue(lambda: pool.waiting)
    service = RerankerService(
        engine,
        pool,
        blend_weight=settings.weight,
        threshold=settings.threshold,
        timeout_s=settings.timeout_s,
    )

    async def stop() -> None:
        pool.close()

    async def healthy() -> bool:
        return pool.healthy

    return ServiceSpec(
        name="reranker",
        services=[Registration(SERVICE, lambda s: pb_grpc.add_RerankerServiceServicer_to_server(service, s))],
        start=lambda: asyncio.to_thread(engine.load),
        stop=stop,
        healthy=healthy,
    )


def engine_of(settings: RerankerSettings) -> RerankerEngine:
    """Builds the engine that the settings name; the libraries of the others are not imported."""
    if settings.engine == "fake":
        from services.reranker.engines.fake import FakeRerankerEngine

        return FakeRerankerEngine()
    from citemesh.models import prepare

    prepared = partial(prepare, settings.model, models_dir=settings.models_dir)
    if settings.engine == "cross":
        from services.reranker.engines.cross_encoder import CrossEncoderEngine

        return CrossEncoderEngine(prepared, _network(settings), max_tokens=settings.max_tokens)
    from services.reranker.engines.late_interaction import LateInteractionEngine

    late_interaction = LateInteractionEngine(
        prepared,
        max_tokens=settings.max_tokens,
        cache_bytes=settings.cache_mib << 20,
        threads=settings.threads,
        layers=settings.layers,
        device=settings.device,
    )
    observe_cache(late_interaction.cache)
    return late_interaction


def _network(settings: RerankerSettings) -> "Load":
    if settings.runtime == "onnx":
        from services.reranker.engines.onnx_pairs import OnnxPairs

        return partial(OnnxPairs, threads=settings.threads)
    from services.reranker.engines.torch_pairs import TorchPairs

    return partial(TorchPairs, threads=settings.threads, device=settings.device)


def main() -> int:
    """Serves until told to stop; returns the exit status."""
    return run_service(RerankerSettings, build)


if __name__ == "__main__":
    sys.exit(main())
