"""What the suites of the retrieval engines share. Suites of other services have an engine of their own by this name."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.retrieval.engine import RetrievalEngine
from tests.contract.retrieval.retrieval_engines import KINDS, TEXTS, new_document, opened


@pytest.fixture(params=KINDS)
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RetrievalEngine]:
    """A retrieval engine of each kind, with an empty default collection."""
    async with opened(request.param, tmp_path / "store") as made:
        yield made


@pytest.fixture
async def filled(engine: RetrievalEngine) -> RetrievalEngine:
    """The same with the texts, each a document of its name."""
    for name, text in TEXTS.items():
        await engine.put(new_document(text, name))
    return engine
