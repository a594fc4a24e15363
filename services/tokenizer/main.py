"""The tokenizer service's process."""

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from citemesh.api.tokenizer.v1.tokenizer_service_pb2_grpc import add_TokenizerServiceServicer_to_server
from citemesh.kit.server import Registration, ServiceSpec, run_service
from services.tokenizer.metrics import observe
from services.tokenizer.pool import PoolLimits, TokenizerPool
from services.tokenizer.registry import TokenizerRegistry
from services.tokenizer.service import TokenizerService
from services.tokenizer.settings import TokenizerSettings

if TYPE_CHECKING:
    from services.tokenizer.engine import TokenizerEngine

SERVICE = "citemesh.api.tokenizer.v1.TokenizerService"


def build(settings: TokenizerSettings) -> ServiceSpec:
    """Wires the service; nothing is loaded before its start."""
    registry = TokenizerRegistry()
    pool = TokenizerPool(
        PoolLimits(settings.threads, settings.max_waiting, settings.max_waiting_characters, settings.step_characters)
    )
    service = TokenizerService(registry, pool, settings)
    observe(pool)

    async def start() -> None:
        registry.fill(await asyncio.to_thread(load_engines, settings))
        await pool.start()

    async def healthy() -> bool:
        return pool.running

    add = Registration(SERVICE, lambda server: add_TokenizerServiceServicer_to_server(service, server))
    return ServiceSpec(name="tokenizer", services=[add], start=start, stop=pool.stop, healthy=healthy)


def load_engines(settings: TokenizerSettings) -> "Sequence[TokenizerEngine]":
    """Loads the tokenizers that the settings name; blocks for seconds."""
    if settings.engine == "fake":
        from services.tokenizer.engines.fake import FakeTokenizer

        return [FakeTokenizer()]
    from citemesh.models import prepare
    from services.tokenizer.engines.hf import HuggingFaceTokenizer

    models = [prepare(reference, settings.models_dir) for reference in settings.models]
    return [HuggingFaceTokenizer(model.name, model.directory, model.max_tokens) for model in models]


def main() -> int:
    """Serves until told to stop; returns the exit status."""
    return run_service(TokenizerSettings, build)


if __name__ == "__main__":
    sys.exit(main())
