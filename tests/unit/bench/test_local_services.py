"""Local services, on fake engines: they are what the mesh is compared with, so they must answer."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.common import corpus
from bench.common.asking import STEPS, Asker
from bench.common.one_process import copy_store, upstreams
from gateway.answering import Answering
from gateway.main import admission_of
from gateway.query.flow import Flow
from gateway.settings import GatewaySettings
from services.retrieval.embedding.fake import FakeEncoder
from services.retrieval.engines.durable.engine import DurableEngine
from services.retrieval.types.chunk import Chunk, Place
from services.retrieval.types.document import DocumentInfo, NewDocument

TEXT = "Envoy 是一个代理 🚀. A sidecar stands beside each service. Keys are checked at the door."


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOKENIZER_ENGINE", "RETRIEVAL_EMBEDDING_ENGINE", "GENERATION_ENGINE", "RERANKER_ENGINE"):
        monkeypatch.setenv(f"CITEMESH_{name}", "fake")


async def keep(state_dir: Path, text: str) -> None:
    """A store with one document."""
    encoder = FakeEncoder()
    info = DocumentInfo("d1", "default", "doors", "doors.md", "text", "en", "0" * 64, len(text), len(text), 1, 0,
                        datetime.now(UTC))  # fmt: skip
    engine = DurableEngine(state_dir / "store")
    await engine.open()
    try:
        await engine.create("default", encoder.embedding)
        vectors = encoder.embed(encoder.ids([text], "passage"))
        await engine.put(NewDocument(info, text, [Chunk("c1", Place(0, len(text)), text)], vectors, encoder.embedding))
    finally:
        await engine.close()


async def test_a_question_passes_through_all_services_of_one_process(tmp_path: Path) -> None:
    await keep(tmp_path / "mesh", TEXT)
    copy_store(tmp_path / "mesh", tmp_path / "own")
    settings = GatewaySettings()
    async with upstreams(tmp_path / "own") as services:
        flow = Flow(services, settings.limits)
        asker = Asker("one process", Answering(flow, admission_of(settings), 30.0).ask)
        await asker.question("What stands beside each service?", 64)
    [answer] = asker.answers
    assert answer.text
    assert set(answer.steps) == set(STEPS)
    assert 0 < answer.first_s <= asker.seconds
    assert answer.between_ms > -1


def test_questions_are_about_sections_and_follow_the_seed(tmp_path: Path) -> None:
    page = tmp_path / "door-keys.md"
    page.write_text(
        "# Top\n\n## How keys are made 钥匙\n\n```\n## not a heading\n```\n\n### Turning the locks\n", encoding="utf-8"
    )
    assert corpus.headings(page) == ["How keys are made 钥匙", "Turning the locks"]
    asked = corpus.questions([page], 5, 1)
    assert len(asked) == 2
    assert asked == corpus.questions([page], 5, 1)
    assert corpus.upload(page).uri == "door-keys.md"
