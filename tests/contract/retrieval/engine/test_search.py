"""What every retrieval engine promises of a search: conditions, fusion, folding, batches, unreadable texts."""

import random

import pytest

from citemesh.errors import NotFound, PreconditionFailed
from services.retrieval.engine import RetrievalEngine
from services.retrieval.types.chunk import NOWHERE, Chunk, PackedTokenVectors
from services.retrieval.types.document import reference
from services.retrieval.types.query import Condition, Filter, Query
from tests.contract.retrieval.retrieval_engines import EMBEDDING, ids_of, new_document, query_for, search

LONG = "The tide comes in twice a day and leaves the flats bare for six hours, when the waders come down to feed. " * 2


PRICES = {"a": "9.5", "b": "10", "c": " -3e1 ", "d": "10 euros", "e": "", "f": "2024-05-01", "g": "2024-06-01T00:00Z"}


@pytest.fixture
async def priced(engine: RetrievalEngine) -> RetrievalEngine:
    for name, price in PRICES.items():
        await engine.put(new_document(f"thing {name} is for sale", name, metadata={"price": price, "name": name}))
    await engine.put(new_document("thing without a price", "none"))
    return engine


@pytest.mark.parametrize(
    ("condition", "passing"),
    [
        (Condition("price", any_of=("10", "9.5", "11")), "ab"),
        (Condition("price", any_of=("10 euros",)), "d"),
        (Condition("price", any_of=("",)), "e"),
        (Condition("nothing", any_of=("",)), ""),
        (Condition("price", numbers=(9.5, None)), "ab"),
        (Condition("price", numbers=(None, 9.75)), "ac"),
        (Condition("price", numbers=(-30, -30)), "c"),
        (Condition("price", numbers=(11, 12)), ""),
        (Condition("price", texts=("2024-01-01", "2024-05-31")), "f"),
        (Condition("price", texts=("2024-05-02", None)), "ag"),
        (Condition("price", texts=(None, " ~")), "ce"),
        (Condition("'; --", texts=("a", None)), ""),
    ],
)
async def test_conditions_on_metadata(priced: RetrievalEngine, condition: Condition, passing: str) -> None:
    for mode in ("hybrid", "dense", "lexical"):
        found = await search(priced, "thing", mode, 1000, chosen=Filter(conditions=[condition]))  # type: ignore[arg-type]  # text
        assert set(ids_of(found)) == set(passing)


async def test_conditions_hold_together_and_are_chosen_before_ranking(priced: RetrievalEngine) -> None:
    both = [Condition("price", numbers=(0, None)), Condition("name", texts=("b", None))]
    assert ids_of(await search(priced, "thing a", top_k=1, chosen=Filter(conditions=both))) == ["b"]
    every = Filter(conditions=both, metadata={"name": "a"})
    assert ids_of(await search(priced, "thing a", chosen=every)) == []


async def test_text_conditions_go_by_code_points(engine: RetrievalEngine) -> None:
    for n, name in enumerate(("Z", "a", "é", "中", "\uffee", "😀")):
        await engine.put(new_document(f"thing number {n}", name, metadata={"k": name}))
    later = Filter(conditions=[Condition("k", texts=("中", None))])
    assert set(ids_of(await search(engine, "thing", chosen=later))) == {"中", "\uffee", "😀"}


async def test_near_duplicates_fold_into_the_best(engine: RetrievalEngine) -> None:
    await engine.put(new_document(LONG, "first", title="Tide"))
    await engine.put(new_document(LONG.replace("six hours", "six  Hours"), "copy", title="Tide"))
    await engine.put(new_document("The tide tables of the harbour are printed each year.", "other", title="Tables"))
    folded = await search(engine, "tide flats waders")
    names = ids_of(folded)
    assert len(names) == 2
    assert "other" in names
    best = folded.chunks[0]
    assert {best.document.document_id, *(it.document.document_id for it in best.duplicates)} == {"first", "copy"}
    assert all(0 < it.similarity <= 1 and it.chunk_id != best.chunk.chunk_id for it in best.duplicates)
    apart = await search(engine, "tide flats waders", keep_duplicates=True)
    assert set(ids_of(apart)) == {"first", "copy", "other"}
    assert not any(it.duplicates for it in apart.chunks)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
async def test_k_come_back_though_copies_stand_before_them(engine: RetrievalEngine, mode: str) -> None:
    for n in range(130):
        await engine.put(new_document("the same words of all the copies", f"copy{n:03}", title="Same"))
    for n in range(4):
        await engine.put(new_document(f"{['zebra', 'quagga', 'okapi'][n % 3]} the words {n}", f"other{n}", title="T"))
    found = (await search(engine, "the same words of all the copies", mode, 5)).chunks  # type: ignore[arg-type]  # text
    assert len(found) == 5
    copies = [it for it in found if it.document.document_id.startswith("copy")]
    assert len(copies) == 1
    assert len(copies[0].duplicates) == 16


async def test_fusions_and_weights_of_a_query(engine: RetrievalEngine) -> None:
    for n in range(8):
        await engine.put(new_document(f"apple number {n} " + "pear " * n + f"w{n}", f"d{n}", title=f"t{n}"))
    by_rank = (await search(engine, "apple pear", fusion="reciprocal-rank")).chunks
    assert len(by_rank) == 8
    assert all(0 < it.fused <= 1 for it in by_rank)
    dense = ids_of(await search(engine, "apple pear", "dense"))
    lexical = ids_of(await search(engine, "apple pear", "lexical"))
    for fusion in ("min-max", "reciprocal-rank"):
        assert ids_of(await search(engine, "apple pear", dense_weight=1.0, fusion=fusion))[:3] == dense[:3]
        assert ids_of(await search(engine, "apple pear", dense_weight=0.0, fusion=fusion))[:3] == lexical[:3]


async def test_many_searches_answer_as_each_alone(engine: RetrievalEngine) -> None:
    chance = random.Random(5)
    await engine.create("other", EMBEDDING)
    words = ["apple", "pear", "plum", "fig", "quince", "grape", "cherry", "date"]
    for n in range(60):
        text = f"{' '.join(chance.choices(words, k=12))} number{n}"
        await engine.put(new_document(text, f"d{n}", "other" if n % 3 == 0 else "default", metadata={"n": str(n)}))
    queries = [
        query_for(f"{word} {chance.choice(words)}", mode, k, collection, chosen)  # type: ignore[arg-type]  # text
        for word in words
        for mode, k in (("hybrid", 5), ("dense", 9), ("lexical", 3))
        for collection in ("default", "other")
        for chosen in (None, Filter(conditions=[Condition("n", numbers=(20, 50))]))
    ]
    together = await engine.search_many(queries)
    alone = [await engine.search(query) for query in queries]
    assert [ids_of(it) for it in together] == [ids_of(it) for it in alone]
    for one, other in zip(together, alone, strict=True):
        assert [it.fused for it in one.chunks] == pytest.approx([it.fused for it in other.chunks], abs=1e-5)
    assert await engine.search_many([]) == ()
    with pytest.raises(NotFound, match="default"):
        await engine.search_many([queries[0], query_for("x", collection="nope")])


async def test_token_vectors_come_only_when_asked_for(engine: RetrievalEngine) -> None:
    kept = PackedTokenVectors(bytes(range(256)), "e" * 64)
    await engine.put(new_document("Paris is a city", "with", token_vectors=kept))
    await engine.put(new_document("Rome is a town", "without"))
    asked = {it.document.document_id: it.chunk for it in (await search(engine, "is", with_token_vectors=True)).chunks}
    assert asked["with"].token_vectors == kept
    assert asked["without"].token_vectors == PackedTokenVectors()
    assert all(it.chunk.token_vectors == PackedTokenVectors() for it in (await search(engine, "is")).chunks)


async def test_token_vectors_of_the_best_alone(engine: RetrievalEngine) -> None:
    kept = PackedTokenVectors(bytes(range(256)), "e" * 64)
    for n in range(4):
        await engine.put(new_document(f"Paris is city number {n}", f"d{n}", token_vectors=kept))
    queries = [query_for("Paris city", with_token_vectors=True, token_vectors_of=most) for most in (2, 0, 9)]
    together = await engine.search_many([*queries, query_for("Paris city")])
    counts = [[bool(it.chunk.token_vectors.packed) for it in one.chunks] for one in together]
    assert counts == [[True, True, False, False], [True] * 4, [True] * 4, [False] * 4]
    assert [it.chunk for it in (await engine.search(queries[0])).chunks] == [it.chunk for it in together[0].chunks]


@pytest.mark.parametrize("keep_duplicates", [True, False])
async def test_a_reference_is_the_same_chunk_with_nothing_but_its_ids(
    engine: RetrievalEngine, keep_duplicates: bool
) -> None:
    await engine.create("other", EMBEDDING)
    for name in ("default", "other"):
        for n in range(3):
            await engine.put(new_document(LONG, f"copy{n}", name, title="Tide", metadata={"n": str(n)}))
        await engine.put(new_document("绿茶 🍵 and the tide tables of the harbour", "tables", name, title="Tables"))
    asked = [
        query_for("tide flats", mode, 3, collection, keep_duplicates=keep_duplicates, view=view)  # type: ignore[arg-type]  # text
        for collection in ("default", "other")
        for mode in ("hybrid", "dense", "lexical")
        for view in ("full", "reference")
    ]
    answers = await engine.search_many(asked)
    for full, named in zip(answers[::2], answers[1::2], strict=True):
        assert full.chunks
        for one, other in zip(full.chunks, named.chunks, strict=True):
            assert other.chunk == Chunk(one.chunk.chunk_id, NOWHERE, "")
            assert other.document == reference(one.document.document_id, one.document.collection)
            assert (other.fused, other.dense, other.lexical) == (one.fused, one.dense, one.lexical)
            assert [it.chunk_id for it in other.duplicates] == [it.chunk_id for it in one.duplicates]
            assert [it.similarity for it in other.duplicates] == [it.similarity for it in one.duplicates]
            assert all(it.place is NOWHERE and not it.document.title for it in other.duplicates)
            assert one.chunk.text
            assert one.document.title
        assert named.sequence == full.sequence
    assert any(it.duplicates for one in answers for it in one.chunks) is not keep_duplicates


async def test_unreadable_chunks_are_found_by_their_words_alone(engine: RetrievalEngine) -> None:
    for n in range(20):
        await engine.put(new_document(f"readable words number {n}", f"d{n}", title="T"))
    await engine.put(new_document("unreadable words number 99", "odd", title="T", unreadable=[0]))
    assert "odd" not in ids_of(await search(engine, "unreadable words number 99", "dense", 100))
    found = await search(engine, "unreadable number 99", top_k=100)
    odd = next(it for it in found.chunks if it.document.document_id == "odd")
    assert odd.dense is None
    assert odd.lexical is not None
    assert not found.notices
    assert any(it.dense is not None for it in found.chunks)


async def test_a_collection_that_the_model_cannot_read_is_searched_by_words(engine: RetrievalEngine) -> None:
    for n in range(8):
        await engine.put(new_document(f"words number {n}", f"d{n}", title="T", unreadable=[0] if n < 2 else []))
    found = await search(engine, "words number 3")
    assert all(it.dense is None and it.lexical is not None for it in found.chunks)
    assert "2 of 8" in found.notices[0]
    assert not (await search(engine, "words", "lexical")).notices
    dense = await search(engine, "words number 1", "dense")
    assert len(dense.chunks) == 6
    assert "2 of 8" in dense.notices[0]
    await engine.delete("default", ["d0", "d1"])
    assert not (await search(engine, "words number 3")).notices


async def test_a_query_without_a_vector_is_searched_by_words(engine: RetrievalEngine) -> None:
    await engine.put(new_document("words to be found", "a"))
    found = await engine.search(Query("default", "words found", 5))
    assert ids_of(found) == ["a"]
    assert "can't read the query" in found.notices[0]
    with pytest.raises(PreconditionFailed, match="lexical"):
        await engine.search(Query("default", "words found", 5, mode="dense"))
