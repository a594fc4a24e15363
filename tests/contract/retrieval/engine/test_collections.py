"""What every retrieval engine promises of collections: they are apart, and fixed to their model."""

from dataclasses import replace

import pytest

from citemesh.errors import AlreadyExists, NotFound, PreconditionFailed
from services.retrieval.engine import RetrievalEngine
from services.retrieval.types.collection import Embedding
from services.retrieval.types.query import Mode
from tests.contract.retrieval.retrieval_engines import (
    BERLIN,
    EMBEDDING,
    OTHER,
    PARIS,
    ids_of,
    new_document,
    query_for,
    search,
)


async def test_a_collections_number_rises_with_its_own_changes_alone(engine: RetrievalEngine) -> None:
    async def number(collection: str = "default", mode: Mode = "hybrid") -> int:
        return (await search(engine, "capital", mode, collection=collection)).sequence

    await engine.create("other", EMBEDDING)
    made = await number("other")
    await engine.put(new_document(PARIS, "p", "other"))
    before, other = await number(), await number("other")
    assert other > made > 0
    await engine.put(new_document(BERLIN, "b", "other"))
    await engine.delete("other", ["p"])
    await engine.create("third", EMBEDDING)
    await engine.drop("third")
    assert [await number(mode=mode) for mode in ("hybrid", "dense", "lexical")] == [before] * 3
    assert (await engine.delete("default", ["nobody"])).sequence == before
    together = [query_for("capital", collection=name) for name in ("default", "other")]
    assert [found.sequence for found in await engine.search_many(together)] == [before, await number("other")]
    assert (last := await number("other")) > other
    dropped = await engine.drop("other")
    await engine.create("other", EMBEDDING)
    assert await number("other") > dropped > last


async def test_collections_are_apart(filled: RetrievalEngine) -> None:
    await filled.create("other", EMBEDDING)
    await filled.put(new_document(PARIS + " Another.", "paris", "other"))
    assert ids_of(await search(filled, "Another", "lexical")) == []
    other = await search(filled, "capital", collection="other", top_k=1000)
    assert {it.document.collection for it in other.chunks} == {"other"}
    await filled.delete("other", ["paris"])
    assert (await filled.document("default", "paris"))[1] == PARIS


async def test_collections_are_listed_by_name(engine: RetrievalEngine) -> None:
    for name in ("zebra", "ant", "bee"):
        await engine.create(name, EMBEDDING)
    assert [it.name for it in await engine.collections("", 10)] == ["ant", "bee", "default", "zebra"]
    assert [it.name for it in await engine.collections("bee", 1)] == ["default"]
    assert await engine.embedding("ant") == EMBEDDING
    with pytest.raises(AlreadyExists):
        await engine.create("ant", EMBEDDING)


async def test_an_unknown_collection_names_those_that_exist(engine: RetrievalEngine) -> None:
    for call in (
        engine.collection("nope"),
        engine.embedding("nope"),
        engine.put(new_document(PARIS, "p", "nope")),
        engine.document("nope", "p"),
        engine.documents("nope", "", 1),
        engine.delete("nope", ["p"]),
        search(engine, "x", collection="nope"),
    ):
        with pytest.raises(NotFound, match="default"):
            await call


@pytest.mark.parametrize("kept", [OTHER, replace(EMBEDDING, dimension=EMBEDDING.dimension + 1)], ids=["model", "size"])
async def test_another_model_is_refused_and_never_scored(filled: RetrievalEngine, kept: Embedding) -> None:
    await filled.create("other", kept)
    said = f"{kept.dimension} dimensions.*not of {EMBEDDING.model} \\({EMBEDDING.dimension}"
    for call in (filled.put(new_document(PARIS, "p", "other")), search(filled, "x", collection="other")):
        with pytest.raises(PreconditionFailed, match=said) as caught:
            await call
        assert caught.value.reason == "MODEL_MISMATCH"
        assert "new collection" in caught.value.remedy
    assert not (await search(filled, "x", "lexical", collection="other")).chunks


async def test_a_dropped_collection_is_gone_and_its_name_is_free(filled: RetrievalEngine) -> None:
    await filled.create("other", EMBEDDING)
    await filled.put(new_document(PARIS, "only", "other"))
    before = (await filled.delete("default", ["nobody"])).sequence
    assert await filled.drop("other") > before
    for call in (filled.collection("other"), filled.drop("other"), search(filled, "x", collection="other")):
        with pytest.raises(NotFound, match="default"):
            await call
    assert [it.name for it in await filled.collections("", 10)] == ["default"]
    await filled.create("other", OTHER)
    info = await filled.collection("other")
    assert (info.documents, info.chunks, info.embedding) == (0, 0, OTHER)
    assert not (await search(filled, "capital", "lexical", collection="other")).chunks
    assert (await filled.collection("default")).documents == 5
