"""A running retrieval service for the contract suites, on the fake engine or on the durable one."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from citemesh.client import Mesh
from citemesh.client.types import IngestProgress, Upload
from citemesh.errors import (
    Unavailable,
)
from citemesh.kit.server import Server
from services.retrieval import main
from services.retrieval.main import MakeEncoder
from services.retrieval.settings import RetrievalSettings
from services.retrieval.types.chunk import TokenIds
from services.retrieval.wiring.embedding import encoder_of
from services.retrieval.wiring.engine import engine_of

GUIDE = """---
title: Tea house guide
keywords: [tea, house]
---

# Brewing

Green tea wants water of eighty degrees. Boiling water makes it bitter.

## 茶道

绿茶要用八十度的水冲泡。开水会让茶变苦。
"""
STATES = ["received", "parsed", "chunked", "embedded", "committed"]


def settings_for(kind: str, folder: Path, **changes: Any) -> RetrievalSettings:
    engines: dict[str, dict[str, Any]] = {
        "fake": {"engine": "fake", "embedding_engine": "fake", "readers": 0},
        "durable": {"engine": "faiss", "embedding_engine": "fake"},
        "real": {"engine": "faiss", "embedding_engine": "torch"},
    }
    listen = f"unix:{os.path.relpath(folder / 'r.sock')}"
    return RetrievalSettings(**{"listen": listen, "state_dir": folder, "drain_s": 1, **engines[kind], **changes})


class WordTokenizer:
    """A tokenizer that can be down: its ids are lengths of words."""

    def __init__(self) -> None:
        self.down = False
        self.digest = "a" * 64

    async def encode(self, texts: Sequence[str]) -> list[TokenIds]:
        if self.down:
            raise Unavailable("the tokenizer")
        return [TokenIds(tuple(len(word) for word in text.split()), self.digest) for text in texts]


class Service:
    """A running service and what a test needs of it."""

    def __init__(self, settings: RetrievalSettings, parts: main.RetrievalParts, tokenizer: WordTokenizer) -> None:
        self.settings = settings
        self.parts = parts
        self.tokenizer = tokenizer
        self.mesh = Mesh({"retrieval": settings.address})
        self.channel = self.mesh.channel("retrieval")

    async def ingest(self, *uploads: Upload) -> dict[str, list[IngestProgress]]:
        """Reports by correlation id; one stream for each collection."""
        reports: dict[str, list[IngestProgress]] = {}
        for name in dict.fromkeys(upload.collection for upload in uploads):
            async for report in self.mesh.documents.ingest([it for it in uploads if it.collection == name]):
                reports.setdefault(report.correlation_id, []).append(report)
        return reports

    async def last(self, *uploads: Upload) -> dict[str, IngestProgress]:
        """Each document's last report."""
        return {name: reports[-1] for name, reports in (await self.ingest(*uploads)).items()}


@asynccontextmanager
async def serving(settings: RetrievalSettings, make_encoder: MakeEncoder = encoder_of) -> AsyncIterator[Service]:
    tokenizer = WordTokenizer()
    parts = main.RetrievalParts(settings, engine_of(settings), tokenizer, make_encoder=make_encoder)
    server = Server(main.service_of(parts, settings), settings)
    service = Service(settings, parts, tokenizer)
    try:
        await server.start()
        async with service.mesh:
            yield service
    finally:
        await server.stop()


with_real = pytest.mark.parametrize(
    "service", ["fake", "durable", pytest.param("real", marks=pytest.mark.real)], indirect=True
)


@pytest.fixture(params=["fake", "durable"])
async def service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(settings_for(request.param, tmp_path, tokens_interval_s=0.05)) as made:
        yield made


def note(name: str, text: str, **more: Any) -> Upload:
    return Upload(name, text.encode(), **more)


async def until(condition: Any, limit_s: float = 10.0) -> None:
    """Waits for a condition, which is an async function."""
    async with asyncio.timeout(limit_s):
        while not await condition():
            await asyncio.sleep(0.02)
