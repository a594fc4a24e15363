"""Changes of the durable engine: each is committed by the store in one transaction, then applied to the index.

All run in the store's writer thread.
"""

import sqlite3
from collections.abc import Mapping, Sequence

from services.retrieval.engines.durable.index.collection_indexes import CollectionIndexes, IndexChange
from services.retrieval.engines.durable.store.database import Transaction
from services.retrieval.engines.durable.store.tables import changes, chunks, collections, documents, tokens
from services.retrieval.engines.durable.store.tables.chunks import PreparedDocument
from services.retrieval.engines.durable.store.tables.collections import CollectionRow
from services.retrieval.types.chunk import TokenIds
from services.retrieval.types.collection import CollectionInfo, Embedding
from services.retrieval.types.document import Deletion


class DurableWrites:
    """Changes the store and the indexes."""

    def __init__(self, indexes: CollectionIndexes) -> None:
        self._indexes = indexes

    def create(self, connection: sqlite3.Connection, name: str, embedding: Embedding) -> CollectionInfo:
        """Makes a collection. Raises AlreadyExists."""
        with Transaction(connection):
            row = collections.create(connection, name, embedding)
            sequence = changes.begin(connection, row.id)
        self._indexes.apply(row, IndexChange.of(row), sequence)
        return collections.info(connection, name)

    def drop(self, connection: sqlite3.Connection, name: str) -> int:
        """Deletes a collection; returns the change's number. Raises NotFound."""
        with Transaction(connection):
            row = collections.drop(connection, name)
            sequence = changes.begin(connection, row.id)
        self._indexes.forget(row)
        return sequence

    def put(self, connection: sqlite3.Connection, collection: str, prepared: Sequence[PreparedDocument]) -> int:
        """Stores or replaces documents of a collection; returns the change's number. Raises NotFound."""
        with Transaction(connection):
            row = collections.find(connection, collection)
            index_changes = [_replace(connection, row, document) for document in prepared]
            sequence = changes.begin(connection, row.id)
        self._indexes.apply(row, IndexChange.joined(index_changes), sequence)
        return sequence

    def delete(self, connection: sqlite3.Connection, collection: str, document_ids: Sequence[str]) -> Deletion:
        """Deletes documents. Raises NotFound for an unknown collection."""
        with Transaction(connection):
            row = collections.find(connection, collection)
            removed = documents.remove_all(connection, row.id, document_ids)
            sequence = changes.begin(connection, row.id) if removed else collections.changed(connection, row)
        numbers = [number for chunk_numbers in removed.values() for number in chunk_numbers]
        self._indexes.apply(row, IndexChange.of(row, numbers), sequence)
        missing = tuple(name for name in dict.fromkeys(document_ids) if name not in removed)
        return Deletion(tuple(removed), missing, sequence)


def fill_tokens(connection: sqlite3.Connection, new_tokens: Mapping[str, TokenIds]) -> None:
    """Stores token ids by chunk id, which changes no index."""
    with Transaction(connection):
        tokens.fill(connection, new_tokens)


def _replace(connection: sqlite3.Connection, row: CollectionRow, new: PreparedDocument) -> IndexChange:
    """Writes a document in place of those that it replaces; returns what that changes in the index."""
    collections.require(row, new.document.embedding)
    removed = documents.remove_replaced(connection, row.id, new.document.info)
    number = documents.insert(connection, row.id, new.document)
    added, vectors = chunks.insert(connection, row.id, number, new)
    return IndexChange(added, vectors, removed)
