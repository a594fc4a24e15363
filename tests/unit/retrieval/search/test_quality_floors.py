"""What search finds on small public sets, through the real services, is no worse than it was.

The floors lie a little under what was measured; docs/quality.md has the figures on whole sets.
"""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bench.retrieving import judge, mesh_services
from bench.retrieving.sets import JudgedSet, xquad
from citemesh.client import Mesh
from citemesh.errors import PreconditionFailed

pytestmark = pytest.mark.real
PARAGRAPHS, QUERIES = 60, 30
FLOORS = {
    "en": {"lexical": 0.98, "dense": 0.955, "hybrid": 0.98, "rerank": 0.96, "default": 0.96},
    "zh": {"lexical": 0.98, "dense": 0.94, "hybrid": 0.965, "rerank": 0.95, "default": 0.95},
}


def small(language: str) -> JudgedSet:
    """The first paragraphs and questions about them, evenly drawn."""
    whole = xquad(language)
    documents = whole.documents[:PARAGRAPHS]
    known = frozenset(document.id for document in documents)
    queries = [asked for asked in whole.queries if asked.relevant <= known]
    return replace(whole, documents=documents, queries=queries[:: len(queries) // QUERIES][:QUERIES])


@pytest.fixture
def sets() -> dict[str, JudgedSet]:
    try:
        return {language: small(language) for language in FLOORS}
    except PreconditionFailed as error:
        pytest.skip(str(error))


@pytest.fixture
async def mesh(sets: dict[str, JudgedSet]) -> AsyncIterator[Mesh]:
    async with mesh_services.services(None) as found:
        yield found


async def test_search_finds_what_it_found(mesh: Mesh, sets: dict[str, JudgedSet]) -> None:
    below = []
    for language, judged in sets.items():
        collection, _ = await mesh_services.fill(mesh, judged)
        answers = await mesh_services.ask(mesh, collection, judged.queries, judged.name)
        for system, floor in FLOORS[language].items():
            each = answers[system]
            found = judge.judged(judged.queries, each.shallow, each.deep, mesh_services.milliseconds(each)).mean(
                "ndcg@10"
            )
            print(f"{judged.name} {system}: nDCG@10 {found:.4f}, floor {floor}")
            if found < floor:
                below.append(f"{judged.name} {system}: {found:.4f} < {floor}")
    assert not below
