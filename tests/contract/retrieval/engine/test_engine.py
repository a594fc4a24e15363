"""What every retrieval engine promises of a search: the fake in memory, and the durable one on SQLite and FAISS."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from services.retrieval.engine import RetrievalEngine
from services.retrieval.types.query import Condition, Filter, Mode
from tests.contract.retrieval.retrieval_engines import PARIS, ids_of, new_document, search


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
@pytest.mark.parametrize(
    ("query", "document"),
    [("noodles drain", "noodles"), ("capital of Germany", "berlin"), ("中国的首都", "china"), ("喝茶", "tea")],
)
async def test_a_text_is_found_by_its_words(filled: RetrievalEngine, mode: str, query: str, document: str) -> None:
    results = await search(filled, query, mode)  # type: ignore[arg-type]  # pytest hands on plain text
    assert ids_of(results)[0] == document
    assert results.chunks[0].chunk.text


async def test_a_single_chinese_character_is_found(filled: RetrievalEngine) -> None:
    assert ids_of(await search(filled, "茶", "lexical")) == ["tea"]


async def test_parts_of_a_score(filled: RetrievalEngine) -> None:
    best = (await search(filled, "capital of France")).chunks[0]
    assert best.fused == pytest.approx(1.0)
    assert best.dense is not None
    assert best.lexical is not None
    dense = (await search(filled, "capital of France", "dense")).chunks[0]
    assert dense.lexical is None
    assert dense.fused == dense.dense == pytest.approx(best.dense, abs=1e-6)
    lexical = (await search(filled, "capital of France", "lexical")).chunks[0]
    assert lexical.dense is None
    assert lexical.fused == lexical.lexical == pytest.approx(best.lexical)


async def test_scores_descend_and_k_bounds_them(filled: RetrievalEngine) -> None:
    for top_k in (1, 2, 1000):
        found = (await search(filled, "the capital of France", top_k=top_k)).chunks
        assert len(found) <= top_k
        assert [it.fused for it in found] == sorted((it.fused for it in found), reverse=True)
        assert all(0 <= it.fused <= 1 for it in found)


async def test_a_query_that_only_one_part_understands(filled: RetrievalEngine) -> None:
    nothing_lexical = await search(filled, "zzz qqq")
    assert nothing_lexical.chunks
    assert all(it.lexical is None and 0 <= it.fused <= 1 for it in nothing_lexical.chunks)
    assert not (await search(filled, "!!! ??", "lexical")).chunks


@pytest.mark.parametrize(
    "query", ['"', "a OR", "NEAR(", "title:x", "*", "-", "'; DROP TABLE documents; --", "\x00", "( )"]
)
async def test_a_query_is_never_syntax(filled: RetrievalEngine, query: str) -> None:
    await search(filled, query)
    await search(filled, query, "lexical")


ODD_QUERIES = {
    "many words": "noodles " + " ".join(f"w{n}" for n in range(5000)),
    "many characters": "".join(map(chr, range(0x4E00, 0x9000))),
    "syntax": '" OR NEAR( * ^ -' * 2000,
    "zeros": "a\x00b" * 9000,
    "families": "👨‍👩‍👧" * 4000,
    "one word": "a" * 32_768,
}


@pytest.mark.parametrize("query", ODD_QUERIES.values(), ids=ODD_QUERIES)
async def test_the_longest_queries_are_answered(filled: RetrievalEngine, query: str) -> None:
    for mode in ("hybrid", "lexical"):
        found = ids_of(await search(filled, query, mode))
        assert "noodles" not in query or "noodles" in found


async def test_an_empty_collection_answers_nothing(engine: RetrievalEngine) -> None:
    for mode in ("hybrid", "dense", "lexical"):
        assert not (await search(engine, "anything", mode)).chunks


async def test_filters_choose_before_ranking(engine: RetrievalEngine) -> None:
    for n in range(60):
        uri = f"https://{'docs' if n % 2 else 'blog'}.example.{'org' if n % 3 else 'com'}/page{n}"
        kind = "text/markdown" if n % 5 == 0 else "text/plain"
        await engine.put(
            new_document(f"the same words {n}", f"d{n:02}", uri=uri, media_type=kind, metadata={"n": str(n)})
        )
    found = await search(engine, "same words", top_k=5, chosen=Filter(source_types=["markdown"]))
    assert len(found.chunks) == 5
    assert {it.document.source_type for it in found.chunks} == {"markdown"}
    assert ids_of(await search(engine, "same words", chosen=Filter(metadata={"n": "7"}))) == ["d07"]
    assert ids_of(await search(engine, "same words", chosen=Filter(document_ids=["d09", "nobody"]))) == ["d09"]
    org = await search(engine, "same words", top_k=1000, chosen=Filter(domains=["Example.ORG", "-blog.example.org"]))
    assert {it.document.uri.split("/")[2] for it in org.chunks} == {"docs.example.org"}
    assert not (await search(engine, "same", chosen=Filter(domains=["ample.org"]))).chunks
    assert not (await search(engine, "same", chosen=Filter(languages=["zh"]))).chunks


MANY = 1000
LARGEST = {
    "ids": Filter(document_ids=["paris", *(f"d{n}" for n in range(MANY - 1))]),
    "allowed": Filter(domains=[*(f"h{n}.org" for n in range(MANY - 1)), "fr.example"]),
    "denied": Filter(domains=[f"-h{n}.org" for n in range(MANY)]),
    "metadata": Filter(metadata={f"k{n}": "v" for n in range(64)}),
    "conditions": Filter(conditions=[Condition(f"k{n}", any_of=(*map(str, range(MANY - 1)), "v")) for n in range(64)]),
}


@pytest.mark.parametrize("chosen", LARGEST.values(), ids=LARGEST)
@pytest.mark.parametrize("mode", ["dense", "lexical"])
async def test_the_largest_filters_are_taken(engine: RetrievalEngine, mode: Mode, chosen: Filter) -> None:
    marks = {f"k{n}": "v" for n in range(64)}
    await engine.put(new_document(PARIS, "paris", uri="https://www.fr.example/p", metadata=marks))
    await engine.put(new_document(PARIS, "other", uri="https://h1.org/p"))
    assert ids_of(await search(engine, "capital", mode, chosen=chosen)) == ["paris"]
    nothing = replace(chosen, languages=[f"l{n}" for n in range(MANY)])
    assert not (await search(engine, "capital", mode, chosen=nothing)).chunks


async def test_filters_by_date_and_language(engine: RetrievalEngine) -> None:
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


async def test_many_callers_at_once(engine: RetrievalEngine) -> None:
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


async def test_a_search_beside_replacements_is_never_short(engine: RetrievalEngine) -> None:
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
