"""Hybrid search over a store: a passage's score depends on the query and not on how many are asked for."""

from pathlib import Path

import pytest

from tests.contract.retrieval.retrieval_engines import new_document, opened, search

TOPICS = ("river", "bridge", "tax", "poem", "clock")


def text(number: int) -> str:
    return f"{TOPICS[number % 5]} {TOPICS[number // 5 % 5]} word{number} " + "filler " * (number % 7)


async def test_scores_do_not_depend_on_how_many_are_asked_for(tmp_path: Path) -> None:
    async with opened("durable", tmp_path) as engine:
        for number in range(150):
            await engine.put(new_document(text(number), f"d{number}"))
        few = (await search(engine, "river clock word7", "hybrid", top_k=5)).chunks
        many = (await search(engine, "river clock word7", "hybrid", top_k=90)).chunks
    scores = {found.chunk.chunk_id: found.fused for found in many}
    assert [found.chunk.chunk_id for found in few] == [found.chunk.chunk_id for found in many[:5]]
    assert [found.fused for found in few] == pytest.approx([scores[found.chunk.chunk_id] for found in few])
    assert all(found.dense is not None for found in few)


async def test_what_only_words_found_is_scored_by_its_vector_as_well(tmp_path: Path) -> None:
    async with opened("durable", tmp_path) as engine:
        for number in range(160):
            await engine.put(new_document(f"river river word{number}", f"d{number}"))
        await engine.put(new_document("zebra " + " ".join(f"other{n}" for n in range(30)), "rare"))
        found = (await search(engine, "river zebra", "hybrid", top_k=150)).chunks
    rare = next(one for one in found if one.document.document_id == "rare")
    assert rare.lexical is not None and rare.dense is not None


async def test_a_small_collection_and_one_that_grew_are_searched_alike(tmp_path: Path) -> None:
    async with opened("durable", tmp_path) as engine:
        await engine.put(new_document(text(0), "d0"))
        assert len((await search(engine, "river", "hybrid")).chunks) == 1
        for number in range(1, 60):
            await engine.put(new_document(text(number), f"d{number}"))
        assert (await search(engine, "word42", "hybrid")).chunks[0].document.document_id == "d42"
        await engine.delete("default", [f"d{number}" for number in range(58)])
        assert len((await search(engine, "river bridge word59", "hybrid")).chunks) == 2
