"""A gateway over a retrieval service that runs: a fake engine and encoder, the real service, a real socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from citemesh.client import Mesh
from citemesh.kit.server import Server
from services.retrieval import main
from services.retrieval.ingestion.passage_tokens import NoTokenizer
from services.retrieval.settings import RetrievalSettings
from services.retrieval.wiring.engine import engine_of
from tests.contract.gateway.gateway_service import Neighbours, Running, gateway
from tests.unit.gateway.query import fakes


@asynccontextmanager
async def library(folder: Path, **settings: Any) -> AsyncIterator[Running]:
    """Runs both for the block."""
    chosen = RetrievalSettings(
        listen=f"unix:{folder}/r.sock", state_dir=folder, engine="fake", embedding_engine="fake", readers=0, drain_s=1
    )
    parts = main.RetrievalParts(chosen, engine_of(chosen), NoTokenizer())
    service = main.service_of(parts, chosen)
    server = Server(service, chosen)
    await server.start()
    try:
        async with Mesh({"retrieval": chosen.address}) as mesh:
            neighbours = Neighbours(documents=mesh.documents, collections=mesh.collections, retrieval=mesh.retrieval)
            async with gateway(fakes.Mesh(), neighbours, **settings) as running:
                running.retrieval_socket = folder / "r.sock"
                yield running
    finally:
        await server.stop()
