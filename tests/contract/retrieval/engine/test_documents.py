"""What every retrieval engine promises of documents: they are kept whole, replaced and deleted in one step."""

import pytest

from citemesh.errors import NotFound, PreconditionFailed
from services.retrieval.engine import RetrievalEngine
from services.retrieval.types.chunk import TokenIds
from services.retrieval.types.query import Filter
from tests.contract.retrieval.retrieval_engines import BERLIN, NOODLES, OTHER, PARIS, ids_of, new_document, search


async def test_chunk_text_is_the_text_of_its_span(filled: RetrievalEngine) -> None:
    long = "\n\n".join(f"# Part {n}\n\nSentence {n} about thing {n}. 第{n}章很好。" for n in range(60))
    await filled.put(new_document(long, "long", media_type="text/markdown"))
    _, text = await filled.document("default", "long")
    found = (await search(filled, "sentence thing", top_k=1000, chosen=Filter(document_ids=["long"]))).chunks
    assert len(found) > 10
    assert all(text[it.chunk.place.start : it.chunk.place.end] == it.chunk.text for it in found)


async def test_replacing_leaves_one_version(filled: RetrievalEngine) -> None:
    before = await filled.collection("default")
    await filled.put(new_document("Rome is the capital of Italy.", "paris"))
    assert (await filled.collection("default")).documents == before.documents
    assert (await filled.document("default", "paris"))[1] == "Rome is the capital of Italy."
    assert ids_of(await search(filled, "Italy Rome", "lexical")) == ["paris"]
    assert not (await search(filled, "Seine France", "lexical")).chunks
    assert all("France" not in it.chunk.text for it in (await search(filled, "France", top_k=1000)).chunks)


async def test_a_deleted_document_is_gone_everywhere(filled: RetrievalEngine) -> None:
    gone = await filled.delete("default", ["paris", "nobody", "paris"])
    assert (gone.deleted, gone.missing) == (("paris",), ("nobody",))
    with pytest.raises(NotFound, match="paris"):
        await filled.document("default", "paris")
    for mode in ("hybrid", "dense", "lexical"):
        assert "paris" not in ids_of(await search(filled, PARIS, mode, 1000))
    assert (await filled.collection("default")).documents == 4


async def test_sequence_numbers_rise_with_changes(engine: RetrievalEngine) -> None:
    first = await engine.put(new_document(PARIS, "a"))
    second = await engine.put(new_document(BERLIN, "b"))
    gone = await engine.delete("default", ["a"])
    assert first < second < gone.sequence
    assert (await search(engine, "capital")).sequence == gone.sequence
    assert (await engine.delete("default", ["a"])).sequence == gone.sequence


async def test_documents_are_listed_in_pages(engine: RetrievalEngine) -> None:
    names = [f"d{n:02}" for n in range(7)]
    for name in reversed(names):
        await engine.put(new_document(f"text of {name}", name, title=f"Title {name}", metadata={"n": name}))
    first = await engine.documents("default", "", 4)
    rest = await engine.documents("default", first[-1].document_id, 4)
    assert [it.document_id for it in (*first, *rest)] == names
    assert first[0].title == "Title d00"
    assert first[0].metadata == {"n": "d00"}


async def test_token_ids_come_only_when_asked_for(engine: RetrievalEngine) -> None:
    await engine.put(new_document(PARIS, "paris", tokens=TokenIds((1, 2, 4_000_000_000), "d" * 64)))
    asked = (await search(engine, "Paris", with_token_ids=True)).chunks[0].chunk
    assert asked.tokens == TokenIds((1, 2, 4_000_000_000), "d" * 64)
    assert (await search(engine, "Paris")).chunks[0].chunk.tokens == TokenIds()


async def test_missing_and_foreign_token_ids_are_filled(engine: RetrievalEngine) -> None:
    await engine.put(new_document(PARIS, "without"))
    await engine.put(new_document(BERLIN, "foreign", tokens=TokenIds((9,), "old")))
    await engine.put(new_document(NOODLES, "fresh", tokens=TokenIds((7,), "new")))
    missing = await engine.without_tokens("new", 100)
    assert {it.text.split()[0] for it in missing} == {"Paris", "Berlin"}
    await engine.fill_tokens({it.chunk_id: TokenIds((5, 6), "new") for it in missing} | {"gone": TokenIds((1,), "new")})
    assert await engine.without_tokens("new", 100) == ()
    found = (await search(engine, "the", top_k=1000, with_token_ids=True)).chunks
    assert {it.chunk.tokens.digest for it in found} == {"new"}


async def test_hostile_texts_are_kept_exactly(engine: RetrievalEngine) -> None:
    texts = ["a\x00b zero", "👨‍👩‍👧 family 🇨🇳", "\u202eright to left שלום", "e\u0301" * 500, "x" * 20_000, "'); --"]
    for n, text in enumerate(texts):
        await engine.put(new_document(text, f"t{n}"))
        _, kept = await engine.document("default", f"t{n}")
        assert kept == text.replace("\x00", "\ufffd")


async def test_a_tables_rows_are_listed_and_deleted_together(filled: RetrievalEngine) -> None:
    for n in range(5):
        await filled.put(new_document(f"row {n} of the table", f"table/{n}", table_id="table"))
    await filled.put(new_document("row of another", "table2/0", table_id="table2"))
    rows = await filled.documents("default", "", 100, "table")
    assert [(it.document_id, it.table_id) for it in rows] == [(f"table/{n}", "table") for n in range(5)]
    assert [it.document_id for it in await filled.documents("default", "table/1", 2, "table")] == ["table/2", "table/3"]
    assert await filled.documents("default", "", 100, "nobody") == ()
    gone = await filled.delete("default", ["table", "paris", "nobody"])
    assert (set(gone.deleted), gone.missing) == ({"table", "paris"}, ("nobody",))
    assert await filled.documents("default", "", 100, "table") == ()
    assert ids_of(await search(filled, "row table", "lexical")) == ["table2/0"]
    assert (await filled.collection("default")).documents == 5


async def test_a_row_that_is_put_again_replaces_only_itself(engine: RetrievalEngine) -> None:
    for n in range(3):
        await engine.put(new_document(f"row {n}", f"t/{n}", table_id="t"))
    await engine.put(new_document("another row", "t/1", table_id="t"))
    await engine.put(new_document("another document", "t/"))
    assert len(await engine.documents("default", "", 100)) == 4
    assert (await engine.document("default", "t/1"))[1] == "another row"


async def test_a_document_and_a_table_of_one_id_take_each_others_place(filled: RetrievalEngine) -> None:
    rows = [new_document(f"row {n} of amber", f"t/{n}", table_id="t") for n in range(3)]
    for turn in range(2):
        await filled.put(new_document("a document of copper", "t"))
        assert [it.document_id for it in await filled.documents("default", "s", 100) if it.document_id != "tea"] == [
            "t"
        ]
        for mode in ("dense", "lexical"):
            assert "t" in ids_of(await search(filled, "copper", mode, 100))
            assert not {"t/0", "t/1", "t/2"} & set(ids_of(await search(filled, "amber", mode, 100)))
        before = (await search(filled, "amber")).sequence
        assert await (filled.put_many(rows) if turn else filled.put(rows[0])) > before
        assert "t" not in ids_of(await search(filled, "copper", "dense", 100))
        assert len(await filled.documents("default", "", 100, "t")) == (3 if turn else 1)
        with pytest.raises(NotFound):
            await filled.document("default", "t")
    assert (await filled.collection("default")).documents == 5 + 3


async def test_many_are_stored_in_one_step(filled: RetrievalEngine) -> None:
    before = (await search(filled, "x")).sequence
    new = [new_document(f"number {n} speaks of topic{n}", f"d{n}") for n in range(7)]
    number = await filled.put_many([*new, new_document("Rome is the capital of Italy.", "paris"), new[0]])
    assert (await search(filled, "x")).sequence == number > before
    assert (await filled.collection("default")).documents == 5 + 7
    for n in range(7):
        for mode in ("hybrid", "dense", "lexical"):
            assert ids_of(await search(filled, f"topic{n} speaks", mode))[0] == f"d{n}"
    assert (await filled.document("default", "paris"))[1] == "Rome is the capital of Italy."


async def test_a_later_one_of_many_takes_the_place_of_one_before(engine: RetrievalEngine) -> None:
    row = new_document("a row of amber", "t/1", table_id="t")
    await engine.put_many([row, new_document("first version", "a"), new_document("copper", "t"),
                           new_document("second version", "a")])  # fmt: skip
    assert [it.document_id for it in await engine.documents("default", "", 9)] == ["a", "t"]
    assert (await engine.document("default", "a"))[1] == "second version"
    for query, found in (("first", []), ("second", ["a"]), ("amber", []), ("copper", ["t"])):
        assert ids_of(await search(engine, query, "lexical")) == found
        assert set(ids_of(await search(engine, query, "dense"))) == {"a", "t"}
    await engine.put_many([new_document("bronze", "t"), row])
    assert [it.document_id for it in await engine.documents("default", "", 9)] == ["a", "t/1"]


async def test_of_many_none_is_stored_where_one_cannot_be(engine: RetrievalEngine) -> None:
    await engine.put(new_document("the old one", "a"))
    number = (await search(engine, "x")).sequence
    with pytest.raises(PreconditionFailed):
        await engine.put_many([new_document("the new one", "a"), new_document("other", "b", embedding=OTHER)])
    with pytest.raises(NotFound, match="default"):
        await engine.put_many([new_document("lost", "c", "nope")])
    assert [it.document_id for it in await engine.documents("default", "", 9)] == ["a"]
    assert (await engine.document("default", "a"))[1] == "the old one"
    found = await search(engine, "new", "dense")
    assert [it.chunk.text for it in found.chunks] == ["the old one"]
    assert found.sequence == number


async def test_nothing_is_deleted_by_an_empty_id(filled: RetrievalEngine) -> None:
    gone = await filled.delete("default", [""])
    assert (gone.deleted, gone.missing) == ((), ("",))
    assert (await filled.delete("default", [])).deleted == ()
    assert (await filled.collection("default")).documents == 5


async def test_counts_follow_every_change(engine: RetrievalEngine) -> None:
    long = " ".join(f"word{n} is said here." for n in range(60))
    first = new_document(long, "a", unreadable=[0, 2])
    await engine.put(first)
    await engine.put(new_document(PARIS, "b"))
    info = await engine.collection("default")
    assert (info.documents, info.chunks, info.unreadable_chunks) == (2, len(first.chunks) + 1, 2)
    await engine.put(new_document(PARIS, "a"))
    info = await engine.collection("default")
    assert (info.documents, info.chunks, info.unreadable_chunks) == (2, 2, 0)
    await engine.delete("default", ["a", "b"])
    info = await engine.collection("default")
    assert (info.documents, info.chunks, info.unreadable_chunks) == (0, 0, 0)
