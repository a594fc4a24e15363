"""Ways to keep and ask a lexical index, behind one contract: what the service does, and two that it could have.

All index the same words (`services.retrieval.search.lexical`), English ones without their endings, titles in a field
of their own. None of them is given a query's common words, as the service leaves them out.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import bm25s
import Stemmer
import tantivy

from citemesh.text.index_words import index_words
from services.retrieval.engines.durable.store.tables.postings import MOST, Postings
from services.retrieval.search import lexical

_COLLECTION = 1
_A_MILLION = 1_000_000
Row = tuple[int, str, str]
"""Number, title, text."""
Ranked = list[tuple[int, float]]


class Lexicon(Protocol):
    """A lexical index on disk."""

    name: str

    def put(self, rows: Sequence[Row]) -> None:
        """Adds rows, or replaces those of the same numbers; searches see them when it returns."""

    def delete(self, numbers: Sequence[int]) -> None:
        """Takes rows out; searches don't see them when it returns."""

    def search(self, query: str, most: int) -> Ranked:
        """The best rows, best first."""

    def close(self) -> None:
        """Ends it."""


class Fts5:
    """SQLite's, as the service keeps it: in the database that holds the texts."""

    name = "SQLite FTS5"

    def __init__(self, folder: Path, title_weight: float) -> None:
        self._connection = sqlite3.connect(folder / "fts.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(
            f'CREATE VIRTUAL TABLE lexicon_1 USING fts5(headings, body, tokenize="{lexical.TOKENIZER}")'
        )
        self._connection.execute(
            "INSERT INTO lexicon_1(lexicon_1, rank) VALUES ('rank', ?)", (f"bm25({title_weight}, 1.0)",)
        )

    def put(self, rows: Sequence[Row]) -> None:
        """Adds rows in one transaction."""
        self._connection.execute("BEGIN")
        self._connection.executemany(
            "INSERT OR REPLACE INTO lexicon_1 (rowid, headings, body) VALUES (?, ?, ?)",
            [(number, lexical.indexed(title), lexical.indexed(text)) for number, title, text in rows],
        )
        self._connection.execute("COMMIT")

    def delete(self, numbers: Sequence[int]) -> None:
        """Takes rows out in one transaction."""
        self._connection.execute("BEGIN")
        self._connection.executemany("DELETE FROM lexicon_1 WHERE rowid = ?", [(number,) for number in numbers])
        self._connection.execute("COMMIT")

    def search(self, query: str, most: int) -> Ranked:
        """As the service searches."""
        terms = self._terms(query)
        if not terms:
            return []
        sql = "SELECT rowid, -rank FROM lexicon_1 WHERE lexicon_1 MATCH ? ORDER BY rank, rowid LIMIT ?"
        return self._connection.execute(sql, (" OR ".join(terms), most)).fetchall()

    def close(self) -> None:
        """Closes the database."""
        self._connection.close()

    def _terms(self, query: str) -> list[str]:
        return lexical.terms(query)


class Fts5Rarest(Fts5):
    """The same, asked for the rarest words alone, as the service asks a million passages by its settings' default."""

    name = "SQLite FTS5, rarest words"
    _passages = 0

    def put(self, rows: Sequence[Row]) -> None:
        """Adds rows; the first ones say how many the words of a query may have together."""
        super().put(rows)
        if not self._passages:
            self._passages = len(rows)
            self._postings = Postings(len(rows) * MOST // _A_MILLION)

    def _terms(self, query: str) -> list[str]:
        return self._postings.affordable(self._connection, _COLLECTION, self._passages, super()._terms(query))


class Tantivy:
    """Tantivy's, in a folder of its own; every change is committed, since it may be asked for at once."""

    name = "tantivy"

    def __init__(self, folder: Path, title_weight: float) -> None:
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("number", stored=True, indexed=True)
        builder.add_text_field("headings", tokenizer_name="words")
        builder.add_text_field("body", tokenizer_name="words")
        (folder / "tantivy").mkdir()
        self._index = tantivy.Index(builder.build(), path=str(folder / "tantivy"))
        words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
        stemmed = words.filter(tantivy.Filter.ascii_fold()).filter(tantivy.Filter.stemmer("english"))
        self._index.register_tokenizer("words", stemmed.build())
        self._boosts = {"headings": title_weight, "body": 1.0}
        self._writer = self._index.writer(heap_size=50_000_000, num_threads=1)

    def put(self, rows: Sequence[Row]) -> None:
        """Adds rows, commits and looks anew."""
        for number, title, text in rows:
            self._writer.delete_documents("number", number)
            self._writer.add_document(_document(number, title, text))
        self._commit()

    def delete(self, numbers: Sequence[int]) -> None:
        """Takes rows out, commits and looks anew."""
        for number in numbers:
            self._writer.delete_documents("number", number)
        self._commit()

    def search(self, query: str, most: int) -> Ranked:
        """BM25 of the sum of both fields."""
        words = " ".join(lexical.query_words(query))
        if not words:
            return []
        parsed, _ = self._index.parse_query_lenient(words, list(self._boosts), field_boosts=self._boosts)
        searcher = self._index.searcher()
        found = searcher.search(parsed, most).hits
        return [(int(searcher.doc(address)["number"][0]), float(score)) for score, address in found]

    def close(self) -> None:
        """Ends its threads."""
        self._writer.wait_merging_threads()

    def _commit(self) -> None:
        self._writer.commit()
        self._index.reload()


def _document(number: int, title: str, text: str) -> tantivy.Document:
    document = tantivy.Document()
    document.add_unsigned("number", number)
    document.add_text("headings", lexical.indexed(title))
    document.add_text("body", lexical.indexed(text))
    return document


class Bm25s:
    """bm25s: scores are computed ahead, so every change builds the whole index anew and writes it."""

    name = "bm25s"

    def __init__(self, folder: Path, title_weight: float) -> None:
        self._folder = folder / "bm25s"
        self._repeat = max(1, round(title_weight))
        self._stemmer = Stemmer.Stemmer("porter")
        self._rows: dict[int, list[str]] = {}
        self._numbers: list[int] = []
        self._index = bm25s.BM25(k1=1.2, b=0.75, method="lucene")

    def put(self, rows: Sequence[Row]) -> None:
        """Adds rows; a title counts as words of the text, as often as its weight says."""
        for number, title, text in rows:
            self._rows[number] = [*self._words(title) * self._repeat, *self._words(text)]
        self._build()

    def delete(self, numbers: Sequence[int]) -> None:
        """Takes rows out."""
        for number in numbers:
            self._rows.pop(number, None)
        self._build()

    def search(self, query: str, most: int) -> Ranked:
        """BM25 by sums of stored scores."""
        words = [word for word in self._stemmer.stemWords(list(lexical.query_words(query))) if word in self._known]
        if not words:
            return []
        found, scores = self._index.retrieve([words], k=min(most, len(self._numbers)), show_progress=False, n_threads=0)
        pairs = zip(found[0], scores[0], strict=True)
        return [(self._numbers[int(at)], float(score)) for at, score in pairs if score > 0]

    def close(self) -> None:
        """There is nothing to end."""

    def _words(self, text: str) -> list[str]:
        return list(self._stemmer.stemWords(list(index_words(text))))

    def _build(self) -> None:
        self._numbers = list(self._rows)
        self._index = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
        self._index.index(list(self._rows.values()), show_progress=False)
        self._index.save(str(self._folder))
        self._known = self._index.vocab_dict


KINDS = (Fts5, Fts5Rarest, Tantivy, Bm25s)


def bytes_of(paths: Iterable[Path]) -> int:
    """Size of files."""
    return sum(path.stat().st_size for path in paths if path.is_file())
