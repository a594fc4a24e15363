"""What every retrieval engine promises: the fake in memory, and the durable one on SQLite and FAISS."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from citemesh.errors import AlreadyExists, NotFound, PreconditionFailed
from services.retrieval.engine import Engine, Filter, Mode, TokenIds
from tests.contract.retrieval_engines import EMBEDDING, KINDS, OTHER, ids_of, new_document, opened, query_for, search

PARIS = "Paris is the capital of France. It lies on the Seine."
BERLIN = "Berlin is the capital of Germany. The wall fell in 1989."
NOODLES = "Boil the noodles for nine minutes and drain them well."
CHINA = "北京是中国的首都。长城很长，游客很多。"
TEA = "他喜欢喝茶，不喜欢咖啡。"


@pytest.fixture(params=KINDS)
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Engine]:
    async with opened(request.param, tmp_path / "store") as made:
        yield made


@pytest.fixture
async def filled(engine: Engine) -> Engine:
    for name, text in {"paris": PARIS, "berlin": BERLIN, "noodles": NOODLES, "china": CHINA, "tea": TEA}.items():
        await engine.put(new_document(text, name))
    return engine


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
@pytest.mark.parametrize(
    ("query", "document"),
    [("noodles drain", "noodles"), ("capital of Germany", "berlin"), ("中国的首都", "china"), ("喝茶", "tea")],
)
async def test_a_text_is_found_by_its_words(filled: Engine, mode: str, query: str, document: str) -> None:
    results = await search(filled, query, mode)  # type: ignore[arg-type]  # pytest hands on plain text
    assert ids_of(results)[0] == document
    assert results.found[0].chunk.text


async def test_a_single_chinese_character_is_found(filled: Engine) -> None:
    assert ids_of(await search(filled, "茶", "lexical")) == ["tea"]


async def test_parts_of_a_score(filled: Engine) -> None:
    best = (await search(filled, "capital of France")).found[0]
    assert best.fused == pytest.approx(1.0)
    assert best.dense is not None
    assert best.lexical is not None
    dense = (await search(filled, "capital of France", "dense")).found[0]
    assert dense.lexical is None
    assert dense.fused == dense.dense == pytest.approx(best.dense, abs=1e-6)
    lexical = (await search(filled, "capital of France", "lexical")).found[0]
    assert lexical.dense is None
    assert lexical.fused == lexical.lexical == pytest.approx(best.lexical)


async def test_scores_descend_and_k_bounds_them(filled: Engine) -> None:
    for top_k in (1, 2, 1000):
        found = (await search(filled, "the capital of France", top_k=top_k)).found
        assert len(found) <= top_k
        assert [it.fused for it in found] == sorted((it.fused for it in found), reverse=True)
        assert all(0 <= it.fused <= 1 for it in found)


async def test_a_query_that_only_one_part_understands(filled: Engine) -> None:
    nothing_lexical = await search(filled, "zzz qqq")
    assert nothing_lexical.found
    assert all(it.lexical is None and 0 <= it.fused <= 1 for it in nothing_lexical.found)
    assert not (await search(filled, "!!! ??", "lexical")).found


@pytest.mark.parametrize(
    "query", ['"', "a OR", "NEAR(", "title:x", "*", "-", "'; DROP TABLE documents; --", "\x00", "( )"]
)
async def test_a_query_is_never_syntax(filled: Engine, query: str) -> None:
    await search(filled, query)
    await search(filled, query, "lexical")


async def test_an_empty_collection_answers_nothing(engine: Engine) -> None:
    for mode in ("hybrid", "dense", "lexical"):
        assert not (await search(engine, "anything", mode)).found


async def test_chunk_text_is_the_text_of_its_span(filled: Engine) -> None:
    long = "\n\n".join(f"# Part {n}\n\nSentence {n} about thing {n}. 第{n}章很好。" for n in range(60))
    await filled.put(new_document(long, "long", media_type="text/markdown"))
    _, text = await filled.document("default", "long")
    found = (await search(filled, "sentence thing", top_k=1000, chosen=Filter(document_ids=["long"]))).found
    assert len(found) > 10
    assert all(text[it.chunk.place.start : it.chunk.place.end] == it.chunk.text for it in found)


async def test_replacing_leaves_one_version(filled: Engine) -> None:
    before = await filled.collection("default")
    await filled.put(new_document("Rome is the capital of Italy.", "paris"))
    assert (await filled.collection("default")).documents == before.documents
    assert (await filled.document("default", "paris"))[1] == "Rome is the capital of Italy."
    assert ids_of(await search(filled, "Italy Rome", "lexical")) == ["paris"]
    assert not (await search(filled, "Seine France", "lexical")).found
    assert all("France" not in it.chunk.text for it in (await search(filled, "France", top_k=1000)).found)


async def test_a_deleted_document_is_gone_everywhere(filled: Engine) -> None:
    gone = await filled.delete("default", ["paris", "nobody", "paris"])
    assert (gone.deleted, gone.missing) == (("paris",), ("nobody",))
    with pytest.raises(NotFound, match="paris"):
        await filled.document("default", "paris")
    for mode in ("hybrid", "dense", "lexical"):
        assert "paris" not in ids_of(await search(filled, PARIS, mode, 1000))
    assert (await filled.collection("default")).documents == 4


async def test_sequence_numbers_rise_with_changes(engine: Engine) -> None:
    first = await engine.put(new_document(PARIS, "a"))
    second = await engine.put(new_document(BERLIN, "b"))
    gone = await engine.delete("default", ["a"])
    assert first < second < gone.sequence
    assert (await search(engine, "capital")).sequence == gone.sequence
    assert (await engine.delete("default", ["a"])).sequence == gone.sequence


async def test_a_collections_number_rises_with_its_own_changes_alone(engine: Engine) -> None:
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


async def test_collections_are_apart(filled: Engine) -> None:
    await filled.create("other", EMBEDDING)
    await filled.put(new_document(PARIS + " Another.", "paris", "other"))
    assert ids_of(await search(filled, "Another", "lexical")) == []
    other = await search(filled, "capital", collection="other", top_k=1000)
    assert {it.document.collection for it in other.found} == {"other"}
    await filled.delete("other", ["paris"])
    assert (await filled.document("default", "paris"))[1] == PARIS


async def test_collections_are_listed_by_name(engine: Engine) -> None:
    for name in ("zebra", "ant", "bee"):
        await engine.create(name, EMBEDDING)
    assert [it.name for it in await engine.collections("", 10)] == ["ant", "bee", "default", "zebra"]
    assert [it.name for it in await engine.collections("bee", 1)] == ["default"]
    assert await engine.embedding("ant") == EMBEDDING
    with pytest.raises(AlreadyExists):
        await engine.create("ant", EMBEDDING)


async def test_an_unknown_collection_names_those_that_exist(engine: Engine) -> None:
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


async def test_another_model_is_refused_and_never_scored(filled: Engine) -> None:
    await filled.create("other", OTHER)
    with pytest.raises(PreconditionFailed, match="other"):
        await filled.put(new_document(PARIS, "p", "other"))
    with pytest.raises(PreconditionFailed):
        await search(filled, "x", collection="other")
    assert not (await search(filled, "x", "lexical", collection="other")).found


async def test_documents_are_listed_in_pages(engine: Engine) -> None:
    names = [f"d{n:02}" for n in range(7)]
    for name in reversed(names):
        await engine.put(new_document(f"text of {name}", name, title=f"Title {name}", metadata={"n": name}))
    first = await engine.documents("default", "", 4)
    rest = await engine.documents("default", first[-1].document_id, 4)
    assert [it.document_id for it in (*first, *rest)] == names
    assert first[0].title == "Title d00"
    assert first[0].metadata == {"n": "d00"}


async def test_filters_choose_before_ranking(engine: Engine) -> None:
    for n in range(60):
        uri = f"https://{'docs' if n % 2 else 'blog'}.example.{'org' if n % 3 else 'com'}/page{n}"
        kind = "text/markdown" if n % 5 == 0 else "text/plain"
        await engine.put(
            new_document(f"the same words {n}", f"d{n:02}", uri=uri, media_type=kind, metadata={"n": str(n)})
        )
    found = await search(engine, "same words", top_k=5, chosen=Filter(source_types=["markdown"]))
    assert len(found.found) == 5
    assert {it.document.source_type for it in found.found} == {"markdown"}
    assert ids_of(await search(engine, "same words", chosen=Filter(metadata={"n": "7"}))) == ["d07"]
    assert ids_of(await search(engine, "same words", chosen=Filter(document_ids=["d09", "nobody"]))) == ["d09"]
    org = await search(engine, "same words", top_k=1000, chosen=Filter(domains=["Example.ORG", "-blog.example.org"]))
    assert {it.document.uri.split("/")[2] for it in org.found} == {"docs.example.org"}
    assert not (await search(engine, "same", chosen=Filter(domains=["ample.org"]))).found
    assert not (await search(engine, "same", chosen=Filter(languages=["zh"]))).found


async def test_filters_by_date_and_language(engine: Engine) -> None:
    for year in (2019, 2021, 2023):
        text = f"---\ndate: {year}-05-01\n---\n# 发布说明\n\n这是{year}年的发布说明。"
        await engine.put(new_document(text, str(year), media_type="text/markdown"))
    await engine.put(new_document("这份发布说明没有日期。", "undated"))
    since = Filter(published_after=datetime(2021, 1, 1, tzinfo=UTC), published_before=datetime(2023, 1, 1, tzinfo=UTC))
    assert ids_of(await search(engine, "发布说明", chosen=since)) == ["2021"]
    assert set(ids_of(await search(engine, "发布说明", chosen=Filter(languages=["zh"])))) == {
        "2019",
        "2021",
        "2023",
        "undated",
    }


async def test_token_ids_come_only_when_asked_for(engine: Engine) -> None:
    await engine.put(new_document(PARIS, "paris", tokens=TokenIds((1, 2, 4_000_000_000), "d" * 64)))
    asked = (await search(engine, "Paris", with_token_ids=True)).found[0].chunk
    assert asked.tokens == TokenIds((1, 2, 4_000_000_000), "d" * 64)
    assert (await search(engine, "Paris")).found[0].chunk.tokens == TokenIds()


async def test_missing_and_foreign_token_ids_are_filled(engine: Engine) -> None:
    await engine.put(new_document(PARIS, "without"))
    await engine.put(new_document(BERLIN, "foreign", tokens=TokenIds((9,), "old")))
    await engine.put(new_document(NOODLES, "fresh", tokens=TokenIds((7,), "new")))
    missing = await engine.without_tokens("new", 100)
    assert {it.text.split()[0] for it in missing} == {"Paris", "Berlin"}
    await engine.fill_tokens({it.chunk_id: TokenIds((5, 6), "new") for it in missing} | {"gone": TokenIds((1,), "new")})
    assert await engine.without_tokens("new", 100) == ()
    found = (await search(engine, "the", top_k=1000, with_token_ids=True)).found
    assert {it.chunk.tokens.digest for it in found} == {"new"}


async def test_many_callers_at_once(engine: Engine) -> None:
    async def work(n: int) -> None:
        name = f"doc{n % 20}"
        await engine.put(new_document(f"number {n} speaks of topic{n % 20}", name))
        assert name in ids_of(await search(engine, f"topic{n % 20}", "lexical"))
        if n % 3 == 0:
            await engine.delete("default", [f"doc{(n + 1) % 20}-never"])

    await asyncio.gather(*(work(n) for n in range(60)))
    info = await engine.collection("default")
    assert info.documents == 20
    assert len(await engine.documents("default", "", 100)) == 20


async def test_a_search_beside_replacements_is_never_short(engine: Engine) -> None:
    for n in range(10):
        await engine.put(new_document(f"steady words number {n}", f"d{n}"))
    stop = asyncio.Event()

    async def replace() -> None:
        n = 0
        while not stop.is_set():
            await engine.put(new_document(f"steady words number {n % 10} again {n}", f"d{n % 10}"))
            await asyncio.sleep(0)
            n += 1

    replacing = asyncio.create_task(replace())
    for _ in range(50):
        assert len(ids_of(await search(engine, "steady words", top_k=50))) == 10
        await asyncio.sleep(0)
    stop.set()
    await replacing


async def test_hostile_texts_are_kept_exactly(engine: Engine) -> None:
    texts = ["a\x00b zero", "👨‍👩‍👧 family 🇨🇳", "\u202eright to left שלום", "e\u0301" * 500, "x" * 20_000, "'); --"]
    for n, text in enumerate(texts):
        await engine.put(new_document(text, f"t{n}"))
        _, kept = await engine.document("default", f"t{n}")
        assert kept == text.replace("\x00", "\ufffd")


async def test_a_tables_rows_are_listed_and_deleted_together(filled: Engine) -> None:
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


async def test_a_row_that_is_put_again_replaces_only_itself(engine: Engine) -> None:
    for n in range(3):
        await engine.put(new_document(f"row {n}", f"t/{n}", table_id="t"))
    await engine.put(new_document("another row", "t/1", table_id="t"))
    await engine.put(new_document("another document", "t/"))
    assert len(await engine.documents("default", "", 100)) == 4
    assert (await engine.document("default", "t/1"))[1] == "another row"


async def test_a_document_and_a_table_of_one_id_take_each_others_place(filled: Engine) -> None:
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


async def test_many_are_stored_in_one_step(filled: Engine) -> None:
    before = (await search(filled, "x")).sequence
    new = [new_document(f"number {n} speaks of topic{n}", f"d{n}") for n in range(7)]
    number = await filled.put_many([*new, new_document("Rome is the capital of Italy.", "paris"), new[0]])
    assert (await search(filled, "x")).sequence == number > before
    assert (await filled.collection("default")).documents == 5 + 7
    for n in range(7):
        for mode in ("hybrid", "dense", "lexical"):
            assert ids_of(await search(filled, f"topic{n} speaks", mode))[0] == f"d{n}"
    assert (await filled.document("default", "paris"))[1] == "Rome is the capital of Italy."


async def test_a_later_one_of_many_takes_the_place_of_one_before(engine: Engine) -> None:
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


async def test_of_many_none_is_stored_where_one_cannot_be(engine: Engine) -> None:
    await engine.put(new_document("the old one", "a"))
    number = (await search(engine, "x")).sequence
    with pytest.raises(PreconditionFailed):
        await engine.put_many([new_document("the new one", "a"), new_document("other", "b", embedding=OTHER)])
    with pytest.raises(NotFound, match="default"):
        await engine.put_many([new_document("lost", "c", "nope")])
    assert [it.document_id for it in await engine.documents("default", "", 9)] == ["a"]
    assert (await engine.document("default", "a"))[1] == "the old one"
    found = await search(engine, "new", "dense")
    assert [it.chunk.text for it in found.found] == ["the old one"]
    assert found.sequence == number


async def test_nothing_is_deleted_by_an_empty_id(filled: Engine) -> None:
    gone = await filled.delete("default", [""])
    assert (gone.deleted, gone.missing) == ((), ("",))
    assert (await filled.delete("default", [])).deleted == ()
    assert (await filled.collection("default")).documents == 5


async def test_a_dropped_collection_is_gone_and_its_name_is_free(filled: Engine) -> None:
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
    assert not (await search(filled, "capital", "lexical", collection="other")).found
    assert (await filled.collection("default")).documents == 5


async def test_counts_follow_every_change(engine: Engine) -> None:
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
