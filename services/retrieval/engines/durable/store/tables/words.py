"""Rows of the lexical tables: what each chunk is looked up by, and BM25 over it."""

import json
import sqlite3
from collections.abc import Sequence

from services.retrieval.engines.durable.store.schema import lexicon
from services.retrieval.engines.durable.store.tables.filters import where
from services.retrieval.search import lexical
from services.retrieval.types.document import NewDocument
from services.retrieval.types.query import Filter

Words = tuple[str, str]


def of_document(document: NewDocument) -> list[Words]:
    """Words of each chunk: those of title and headings, and those of its text."""
    return [_words(document.info.title, chunk.place.headings, chunk.text) for chunk in document.chunks]


def insert(connection: sqlite3.Connection, collection: int, numbers: Sequence[int], words: Sequence[Words]) -> None:
    """Adds chunks' words by their numbers."""
    connection.executemany(
        f"INSERT INTO {lexicon(collection)} (rowid, headings, body) VALUES (?, ?, ?)",
        [(chunk, *pair) for chunk, pair in zip(numbers, words, strict=True)],
    )


def index_anew(connection: sqlite3.Connection, collection: int) -> None:
    """Fills a collection's empty lexical table from its chunks, a chunk at a time."""
    rows = connection.execute(
        "SELECT k.id, d.title, k.headings, k.text FROM chunks k JOIN documents d ON d.id = k.document"
        " WHERE k.collection = ? ORDER BY k.id",
        (collection,),
    )
    rows_of_words = ((number, *_words(title, json.loads(headings), text)) for number, title, headings, text in rows)
    connection.executemany(f"INSERT INTO {lexicon(collection)} (rowid, headings, body) VALUES (?, ?, ?)", rows_of_words)


def scores(
    connection: sqlite3.Connection, collection: int, terms: Sequence[str], chunk_filter: Filter, limit: int
) -> dict[int, float]:
    """BM25 of the best chunks that hold any of a query's terms and pass a filter, by number; higher is better."""
    if not terms:
        return {}
    table, expression = lexicon(collection), " OR ".join(terms)
    if chunk_filter.empty:
        sql = f"SELECT rowid, -rank FROM {table} WHERE {table} MATCH ? ORDER BY rank, rowid LIMIT ?"
        return dict(connection.execute(sql, (expression, limit)).fetchall())
    condition = where(collection, chunk_filter)
    sql = (
        f"SELECT l.rowid, -l.rank FROM {table} l JOIN chunks k ON k.id = l.rowid"
        f" JOIN documents d ON d.id = k.document WHERE {table} MATCH ? AND {condition.sql}"
        f" ORDER BY l.rank, l.rowid LIMIT ?"
    )
    return dict(connection.execute(sql, (expression, *condition.values, limit)).fetchall())


def _words(title: str, headings: Sequence[str], text: str) -> Words:
    return lexical.indexed(" ".join((title, *headings))), lexical.indexed(text)
