"""A large collection is asked for a query's rarest words; nothing that is there is lost by it."""

import sqlite3
from pathlib import Path

import pytest

from services.retrieval.engines.durable.engine import DurableEngine
from services.retrieval.engines.durable.store.tables.postings import Postings
from services.retrieval.search import lexical
from services.retrieval.types.query import Filter
from tests.contract.retrieval.retrieval_engines import EMBEDDING, ids_of, new_document, search


def _lexicon(rows: int) -> sqlite3.Connection:
    """A collection in which "every" is in all passages, "half" in each second, "tenth" and "rare" accordingly."""
    connection = sqlite3.connect(":memory:")
    connection.execute(f'CREATE VIRTUAL TABLE lexicon_1 USING fts5(headings, body, tokenize="{lexical.TOKENIZER}")')
    for number in range(rows):
        text = "every" + " half" * (number % 2 == 0) + " tenth" * (number % 10 == 0) + " rare" * (number == 7)
        connection.execute("INSERT INTO lexicon_1 (rowid, headings, body) VALUES (?, '', ?)", (number + 1, text))
    return connection


@pytest.mark.parametrize(
    ("most", "kept"),
    [(1000, "every half tenth rare"), (161, "every half tenth rare"), (160, "half tenth rare"), (30, "tenth rare")],
)
def test_the_commonest_words_go_first_and_the_rest_keep_their_order(most: int, kept: str) -> None:
    connection = _lexicon(100)
    terms = lexical.terms("every half tenth rare")
    assert Postings(most).affordable(connection, 1, 100, terms) == lexical.terms(kept)
    connection.close()


def test_two_words_are_always_asked_for() -> None:
    connection = _lexicon(100)
    assert Postings(1).affordable(connection, 1, 100, lexical.terms("half every rare")) == lexical.terms("half rare")
    assert Postings(1).affordable(connection, 1, 100, lexical.terms("every half")) == lexical.terms("every half")
    assert Postings(1).affordable(connection, 1, 100, []) == []
    connection.close()


def test_words_are_counted_again_when_the_collection_has_grown() -> None:
    connection = _lexicon(100)
    postings, terms = Postings(60), lexical.terms("half tenth rare")
    assert postings.affordable(connection, 1, 100, terms) == lexical.terms("tenth rare")
    connection.execute("DELETE FROM lexicon_1 WHERE rowid > 50")
    assert postings.affordable(connection, 1, 100, terms) == lexical.terms("tenth rare")  # remembered
    assert postings.affordable(connection, 1, 50, terms) == terms
    connection.close()


async def test_k_come_back_where_they_hold_common_words_alone(tmp_path: Path) -> None:
    engine = DurableEngine(tmp_path, lexical_postings=3)
    await engine.open()
    await engine.create("default", EMBEDDING)
    words = {"both": "ore alpha beta", "first": "ore alpha", "second": "ore beta"} | {f"d{n}": "ore" for n in range(9)}
    await engine.put_many([new_document(f"{text} {name}", name) for name, text in words.items()])

    assert set(ids_of(await search(engine, "ore alpha beta", "lexical", 3))) == {"both", "first", "second"}
    assert len((await search(engine, "ore alpha beta", "lexical", 10)).chunks) == 10
    chosen = Filter(document_ids=("d4", "d5"))
    assert set(ids_of(await search(engine, "ore alpha beta", "lexical", 2, chosen=chosen))) == {"d4", "d5"}
    await engine.close()
