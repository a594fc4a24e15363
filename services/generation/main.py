"""The generation service's process.

The model's worker processes import this module again, so it stays light: an engine is imported when it is named.
"""

import sys
from typing import TYPE_CHECKING

from citemesh.api.generation.v1.generation_service_pb2_grpc import add_GenerationServiceServicer_to_server
from citemesh.kit.server import Registration, ServiceSpec, run_service
from services.generation import metrics
from services.generation.host import Host
from services.generation.service import GenerationService
from services.generation.settings import GenerationSettings

if TYPE_CHECKING:
    from services.generation.engine import GenerationEngine

SERVICE = "citemesh.api.generation.v1.GenerationService"


def build(settings: GenerationSettings) -> ServiceSpec:
    """Wires the service; nothing is loaded before its start."""
    return service_of(Host(make_engine(settings), settings.max_requests), settings)


def service_of(host: Host, settings: GenerationSettings) -> ServiceSpec:
    """Wires the service around a host."""
    service = GenerationService(host, settings)
    metrics.observe(host)
    return ServiceSpec(
        name="generation",
        services=[Registration(SERVICE, lambda server: add_GenerationServiceServicer_to_server(service, server))],
        start=host.start,
        stop=host.stop,
        healthy=host.healthy,
        failed=host.lost if settings.exit_on_engine_death else None,
    )


def make_engine(settings: GenerationSettings) -> "GenerationEngine":
    """Makes the engine that the settings name, without loading its model."""
    if settings.engine == "fake":
        from services.generation.engines.fake import FakeGenerationEngine, Faults

        faults = Faults(settings.fake_delay_s, settings.fake_die_after, settings.fake_refuse)
        return FakeGenerationEngine(faults, settings.max_running, settings.max_model_tokens)
    from services.generation.engines.vllm_engine import VllmEngine, VllmOptions

    return VllmEngine(
        VllmOptions(
            model=settings.model,
            models_dir=settings.models_dir,
            device=settings.device,
            dtype=settings.dtype,
            max_model_tokens=settings.max_model_tokens,
            threads=settings.threads,
            reading_threads=settings.reading_threads,
            kv_cache_bytes=int(settings.kv_cache_gib * (1 << 30)),
            gpu_memory_utilization=settings.gpu_memory_utilization,
            compile=settings.compile,
            max_running=settings.max_running,
            max_requests=settings.max_requests,
        )
    )


def main() -> int:
    """Runs until told to stop; return the exit status."""
    return run_service(GenerationSettings, build)


if __name__ == "__main__":
    sys.exit(main())
