"""Signatures of passages in the store: kept, of other versions, missing, and very many."""

import sqlite3
from pathlib import Path

from services.retrieval.engines.durable.store.tables import signatures
from services.retrieval.search import near_duplicates
from tests.contract.retrieval.retrieval_engines import new_document, opened, search

TEXT = "The tide comes in twice a day and leaves the flats bare for hours, when the waders come down to feed. "


async def test_signatures_that_are_missing_or_old_are_made_of_the_text(tmp_path: Path) -> None:
    async with opened("durable", tmp_path) as engine:
        for name in ("a", "b", "c"):
            await engine.put(new_document(TEXT, name, title="Tide"))
    connection = sqlite3.connect(tmp_path / "store.db")
    connection.execute("DELETE FROM signatures WHERE chunk = 1")
    connection.execute("UPDATE signatures SET version = 'older', signature = x'00' WHERE chunk = 2")
    connection.commit()
    made = signatures.read(connection, [3, 1, 2, 99])
    assert (
        made[:3] == [near_duplicates.signature(text) for (text,) in connection.execute("SELECT text FROM chunks")][:3]
    )
    assert all(near_duplicates.similarity(made[3], one) == 0 for one in made[:3])
    connection.close()
    async with opened("durable", tmp_path) as engine:
        (found,) = (await search(engine, "tide flats", top_k=10)).chunks
        assert len(found.duplicates) == 2


async def test_more_than_a_statement_takes_are_read(tmp_path: Path) -> None:
    async with opened("durable", tmp_path) as engine:
        await engine.put(new_document(TEXT, "a"))
    connection = sqlite3.connect(tmp_path / "store.db")
    assert len(signatures.read(connection, range(1, 40_001))) == 40_000
    connection.close()
