"""The retrieval service over an embedding endpoint: ingestion, search, and what a caller is told when it is away."""

from pathlib import Path

import pytest

from citemesh.client.types import Search
from citemesh.errors import PreconditionFailed, Unavailable
from services.retrieval.embedding import endpoint
from services.retrieval.settings import RetrievalSettings
from tests.contract.retrieval.test_service import note, serving, settings_for
from tests.support.embedding_endpoint import DIMENSION, Standin, standin, status

TEXTS = {"tea": "Green tea wants water of 80 degrees.", "wall": "The wall fell in 1989. 墙倒了。"}


def settings_over(server: Standin, folder: Path, **changes: object) -> RetrievalSettings:
    known = {"embedding_url": server.base, "embedding_model": "some-model", "embedding_dimension": DIMENSION}
    made = settings_for("durable", folder)
    return made.model_copy(update={"embedding_engine": "openai", **known, **changes})


async def test_documents_go_in_and_are_found(tmp_path: Path) -> None:
    with standin() as server:
        async with serving(settings_over(server, tmp_path)) as service:
            reports = await service.last(*(note(name, text) for name, text in TEXTS.items()))
            assert {report.state for report in reports.values()} == {"committed"}
            answer = await service.mesh.retrieval.find(Search("green tea water", with_token_vectors=True))
            assert answer.passages[0].text == TEXTS["tea"]
            assert answer.passages[0].dense is not None
            assert answer.passages[0].token_vectors == b"", "the reranker reads it itself"
            [kept] = await service.mesh.collections.list()
            assert (kept.embedding_model, kept.dimension) == ("some-model", DIMENSION)
            asked = len(server.calls)
            await service.mesh.retrieval.find(Search("green tea water"))
            assert len(server.calls) == asked, "a query asked again costs nothing"


async def test_an_endpoint_that_is_away_is_told_and_words_still_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "_FIRST_PAUSE_S", 0.01)
    with standin() as server:
        async with serving(settings_over(server, tmp_path)) as service:
            await service.last(note("tea", TEXTS["tea"]))
            server.faults = [status(503)] * 99
            with pytest.raises(Unavailable, match="embedding endpoint"):
                await service.mesh.retrieval.find(Search("another question", mode="hybrid"))
            found = await service.mesh.retrieval.find(Search("green tea", mode="lexical"))
            assert [passage.text for passage in found.passages] == [TEXTS["tea"]]
            failed = (await service.last(note("wall", TEXTS["wall"])))["wall"]
            assert (failed.state, failed.error_reason) == ("failed", "STORAGE")
            assert "embedding endpoint" in failed.error_message
            server.faults = []
            assert (await service.last(note("wall", TEXTS["wall"])))["wall"].state == "committed"


async def test_another_dimension_is_found_out_at_the_start(tmp_path: Path) -> None:
    with standin() as server, pytest.raises(PreconditionFailed, match=f"dimension {DIMENSION}, and 7 is set"):
        async with serving(settings_over(server, tmp_path, embedding_dimension=7)):
            pass
