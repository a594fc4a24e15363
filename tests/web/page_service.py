"""The page in a real Chromium, over a gateway whose retrieval service runs; only the models are fakes."""

import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, async_playwright

from citemesh.client import Mesh
from citemesh.client.types import Upload
from citemesh.kit.server import Server
from services.retrieval import main
from services.retrieval.ingestion.passage_tokens import NoTokenizer
from services.retrieval.settings import RetrievalSettings
from services.retrieval.wiring.engine import engine_of
from tests.contract.gateway.gateway_service import Neighbours, gateway
from tests.unit.gateway.query import fakes

PUMP = (
    "# Pump manual\n\n## Pressure\n\nThe pump runs at 40 bar. It needs oil every month.\n\n"
    "## History\n\nIt was built in 1987 by Acme. The housing is steel.\n"
)
CHINESE = "# 水泵手册\n\n水泵在四十巴下运行。每月需要加油🛢️。\n"
HOSTILE = (
    "# <img src=x onerror=window.pwned=1>\n\n"
    "The valve <script>window.pwned = 1</script> opens at 9 bar. [click](javascript:window.pwned=1)\n"
)
QUESTION = "At what pressure does the pump run?"


@dataclass
class Site:
    """A running page: its address, the fakes behind it, and a client of the documents."""

    address: str
    services: fakes.Mesh
    client: Mesh
    browser: Browser
    faults: list[str] = field(default_factory=list)

    async def put(self, name: str, text: str, **about: Any) -> None:
        """Takes a document in."""
        upload = Upload(name, text.encode(), document_id=name, media_type="text/markdown", **about)
        states = [one.state async for one in self.client.documents.ingest([upload])]
        assert states[-1] == "committed", states

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(message.text)

    @asynccontextmanager
    async def page(self, **options: Any) -> AsyncIterator[Page]:
        """A fresh tab; what its console complains of is a fault."""
        context: BrowserContext = await self.browser.new_context(**{"locale": "en-US", **options})
        context.set_default_timeout(15_000)
        tab = await context.new_page()
        tab.on("console", self._hear)
        tab.on("pageerror", lambda error: self.faults.append(str(error)))
        try:
            await tab.goto(self.address)
            yield tab
        finally:
            await context.close()


@asynccontextmanager
async def site(folder: Path, **settings: Any) -> AsyncIterator[Site]:
    """Runs services and browser for the block. Faults that the page's console told fail the test."""
    chosen = RetrievalSettings(
        listen=f"unix:{folder}/r.sock", state_dir=folder, engine="fake", embedding_engine="fake", readers=0, drain_s=1
    )
    parts = main.RetrievalParts(chosen, engine_of(chosen), NoTokenizer())
    server = Server(main.service_of(parts, chosen), chosen)
    await server.start()
    port = free_port()
    try:
        async with Mesh({"retrieval": chosen.address}) as mesh, async_playwright() as playwright:
            services = fakes.Mesh(retrieval=mesh.retrieval)  # type: ignore[arg-type]  # the real client in the fake's place
            beside = Neighbours(documents=mesh.documents, collections=mesh.collections, retrieval=mesh.retrieval)
            async with gateway(services, beside, http_listen=f"127.0.0.1:{port}", **settings):
                browser = await playwright.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-dev-shm-usage"]
                )
                running = Site(f"http://127.0.0.1:{port}/", services, mesh, browser)
                yield running
                await browser.close()
                assert not running.faults, running.faults
    finally:
        await server.stop()


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])
