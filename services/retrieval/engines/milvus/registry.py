"""Registry of collections in Milvus: one row for each with its name, its embedding and its state."""

from datetime import UTC, datetime

from pymilvus import MilvusClient

from citemesh.errors import AlreadyExists, NotFound
from services.retrieval.engines.milvus import rows, schema
from services.retrieval.engines.milvus.filter import key
from services.retrieval.engines.milvus.schema import NO_VECTOR, REGISTRY_FIELDS, Names
from services.retrieval.engines.milvus.store import MilvusStore
from services.retrieval.types.collection import CollectionInfo, Embedding, model_mismatch

_COUNT = "count(*)"
_MOST_COLLECTIONS = 16_000
_PRESENT, _GOING = "kept", "going"
"""States of a collection: there, or being deleted."""


class MilvusRegistry:
    """Collections and what Milvus holds for each. All calls block."""

    def __init__(self, client: MilvusClient, names: Names, store: MilvusStore) -> None:
        self._client = client
        self._names = names
        self._store = store

    def prepare(self) -> None:
        """Makes what all collections share, and loads every collection of Milvus."""
        schema.make_shared(self._client, self._names)
        for name in (self._names.registry, self._names.changes, self._names.intents):
            self._client.load_collection(name)
        for row in self.all():
            for name in self._names.of(row["name"]):
                self._client.load_collection(name)

    def all(self) -> list[rows.Row]:
        """Rows of all collections."""
        answer = self._client.query(
            self._names.registry, filter=f'state == "{_PRESENT}"', limit=_MOST_COLLECTIONS,
            output_fields=list(REGISTRY_FIELDS),
        )  # fmt: skip
        return list(answer)

    def find(self, name: str) -> rows.Row:
        """The row of a collection. Raises NotFound, which names those that exist."""
        row = self._row(name)
        if row is None or row["state"] != _PRESENT:
            names = ", ".join(sorted(row["name"] for row in self.all()))
            raise NotFound("collection", name, f"there are: {names}" if names else "create one first")
        return row

    def embedding(self, name: str) -> Embedding:
        """What a collection is fixed to. Raises NotFound."""
        return rows.embedding_of(self.find(name)["described"])[0]

    def require(self, name: str, embedding: Embedding) -> None:
        """Raises PreconditionFailed where a collection was made for another embedding."""
        fixed = self.embedding(name)
        if fixed != embedding:
            raise model_mismatch(name, fixed, embedding)

    def create(self, name: str, embedding: Embedding) -> None:
        """Makes a collection. Raises AlreadyExists."""
        row = self._row(name)
        if row is not None and row["state"] == _PRESENT:
            raise AlreadyExists("collection", name)
        # An unfinished removal is finished first; an unfinished creation left nothing but empty collections.
        if row is not None or not schema.fits(self._client, self._names, name, embedding.dimension):
            schema.drop(self._client, self._names, name)
        schema.make(self._client, self._names, name, embedding.dimension)
        description = rows.embedding_text(embedding, datetime.now(UTC), name)
        self._store.changed(name)
        self._register(name, description, _PRESENT)

    def drop(self, name: str) -> int:
        """Deletes a collection; returns the change's number. Raises NotFound."""
        row = self.find(name)
        self._register(name, row["described"], _GOING)
        number = self._store.changed(name)
        schema.drop(self._client, self._names, name)
        self._client.delete(self._names.registry, filter=f'id == "{key(name)}"')
        return number

    def info(self, row: rows.Row) -> CollectionInfo:
        """What is known of a collection, counted now."""
        name = row["name"]
        embedding, created_at = rows.embedding_of(row["described"])
        documents = self._count(self._names.documents(name), "")
        chunks, unreadable = self.counts(name)
        return CollectionInfo(name, embedding, documents, chunks, created_at, unreadable, "milvus")

    def counts(self, name: str) -> tuple[int, int]:
        """Chunks of a collection, and how many of them have no vector."""
        chunks = self._names.chunks(name)
        return self._count(chunks, ""), self._count(chunks, "readable == false")

    def _row(self, name: str) -> rows.Row | None:
        answer = self._client.query(
            self._names.registry, filter=f'id == "{key(name)}"', output_fields=list(REGISTRY_FIELDS)
        )
        return answer[0] if answer else None

    def _register(self, name: str, description: str, state: str) -> None:
        row = {"id": key(name), "name": name, "described": description, "state": state, "vector": NO_VECTOR}
        self._client.upsert(self._names.registry, [row])

    def _count(self, name: str, expression: str) -> int:
        return int(self._client.query(name, filter=expression, output_fields=[_COUNT])[0][_COUNT])
