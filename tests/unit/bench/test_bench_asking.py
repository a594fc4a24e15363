"""What the bench of the first text asks: questions about sections, and one process of services that answers them."""

from pathlib import Path

import pytest

from bench.common import corpus
from bench.common.asking import STEPS, Asker
from bench.common.one_process import upstreams
from citemesh.client.types import Upload
from gateway.answering import Answering
from gateway.main import admission_of
from gateway.query.flow import Flow
from gateway.settings import GatewaySettings
from services.retrieval.local import local_retrieval
from services.retrieval.settings import RetrievalSettings

TEXT = "Envoy 是一个代理 🚀. A sidecar stands beside each service. Keys are checked at the door."


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOKENIZER_ENGINE", "RETRIEVAL_EMBEDDING_ENGINE", "GENERATION_ENGINE", "RERANKER_ENGINE"):
        monkeypatch.setenv(f"CITEMESH_{name}", "fake")


async def test_a_question_passes_through_all_services_of_one_process(tmp_path: Path) -> None:
    async with local_retrieval(RetrievalSettings(readers=0, state_dir=tmp_path / "mesh")) as retrieval:
        upload = Upload("d1", TEXT.encode(), uri="doors.md", title="doors")
        assert [report.state async for report in retrieval.documents.ingest([upload])][-1] == "committed"
        copy = await retrieval.collections.snapshot()
    settings = GatewaySettings()
    async with upstreams(Path(copy.directory), tmp_path / "own") as services:
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
