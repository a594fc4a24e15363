"""Collections of Milvus: three for each of our collections, and three that all of them share.

registry   one row a collection: its name, embedding and state
changes    one row a collection: the number of its last change
intents    one row an unfinished change, by which its leftovers are found
documents  one row a document, which names the one version of it that counts
chunks     the rows that are searched, each of one version of a document
parts      long texts in pieces: documents' texts and packed token vectors, each of one version

Every collection of Milvus needs a vector; where there is nothing to search it is two zeros.
"""

from dataclasses import dataclass
from typing import Any

from pymilvus import DataType, Function, FunctionType, MilvusClient

from services.retrieval.engines.milvus.filter import MAX_TAG, MAX_TAGS, key

LONGEST = 65_535
"""Bytes of the longest text that a field of Milvus holds."""
KEY = 64
NO_VECTOR = [0.0, 0.0]
CONSISTENCY = "Strong"
"""A read sees all that was acknowledged before it."""

REGISTRY_FIELDS = ("name", "described", "state")
DOCUMENT_FIELDS = ("id", "version", "described", "table")
CHUNK_FIELDS = (
    "id", "document", "version", "chunk_id", "at", "place", "text", "token_ids", "tokens_digest", "vectors_digest",
    "signature",
)  # fmt: skip


_CHUNK_TEXTS = {
    "document": KEY,
    "version": KEY,
    "chunk_id": 1024,
    "place": LONGEST,
    "text": LONGEST,
    "token_ids": LONGEST,
    "tokens_digest": 2 * KEY,
    "vectors_digest": 2 * KEY,
    "signature": 1024,
}


@dataclass(frozen=True, slots=True)
class Names:
    """Names of Milvus's collections; prefix: begins those of this store."""

    prefix: str

    @property
    def registry(self) -> str:
        """All collections."""
        return f"{self.prefix}_registry"

    @property
    def changes(self) -> str:
        """Numbers of last changes."""
        return f"{self.prefix}_changes"

    @property
    def intents(self) -> str:
        """Unfinished changes."""
        return f"{self.prefix}_intents"

    def documents(self, collection: str) -> str:
        """Documents of a collection."""
        return f"{self.prefix}_documents_{key(collection)}"

    def chunks(self, collection: str) -> str:
        """Chunks of a collection."""
        return f"{self.prefix}_chunks_{key(collection)}"

    def parts(self, collection: str) -> str:
        """Long texts of a collection."""
        return f"{self.prefix}_parts_{key(collection)}"

    def of(self, collection: str) -> tuple[str, str, str]:
        """The three of a collection."""
        return self.documents(collection), self.chunks(collection), self.parts(collection)


def make_shared(client: MilvusClient, names: Names) -> None:
    """Makes what all collections share, where it isn't there."""
    _make(client, names.registry, {"name": KEY * 4, "described": LONGEST, "state": KEY})
    _make(client, names.changes, {}, {"number": DataType.INT64})
    _make(client, names.intents, {"collection": KEY * 4, "document": KEY, "old": KEY})


def make(client: MilvusClient, names: Names, collection: str, dimension: int) -> None:
    """Makes what a collection needs, where it isn't there."""
    _make(
        client,
        names.documents(collection),
        {"version": KEY, "described": LONGEST, "place": 8192, "table": KEY},
    )
    _make(client, names.parts(collection), {"version": KEY, "kind": KEY, "data": LONGEST}, {"at": DataType.INT64})
    if not client.has_collection(names.chunks(collection)):
        _make_chunks(client, names.chunks(collection), dimension)


def _make(
    client: MilvusClient, name: str, texts: dict[str, int], other_fields: dict[str, DataType] | None = None
) -> None:
    if client.has_collection(name):
        return
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=2 * KEY)
    for field, length in texts.items():
        schema.add_field(field, DataType.VARCHAR, max_length=length)
    for field, kind in (other_fields or {}).items():
        schema.add_field(field, kind)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=len(NO_VECTOR))
    index = client.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="IP")
    _create(client, name, schema, index)


def _make_chunks(client: MilvusClient, name: str, dimension: int) -> None:
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=2 * KEY)
    for field, length in _CHUNK_TEXTS.items():
        schema.add_field(field, DataType.VARCHAR, max_length=length)
    schema.add_field("at", DataType.INT64)
    schema.add_field("readable", DataType.BOOL)
    schema.add_field("tags", DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=MAX_TAGS, max_length=MAX_TAG)
    schema.add_field("published", DataType.INT64, nullable=True)
    schema.add_field("numbers", DataType.JSON)
    schema.add_field("texts", DataType.JSON)
    words: dict[str, Any] = {"enable_analyzer": True, "analyzer_params": {"tokenizer": "standard"}}
    schema.add_field("words", DataType.VARCHAR, max_length=LONGEST, **words)
    schema.add_field("dense", DataType.FLOAT_VECTOR, dim=dimension)
    schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_function(Function("bm25", FunctionType.BM25, ["words"], ["sparse"]))
    index = client.prepare_index_params()
    index.add_index("dense", index_type="AUTOINDEX", metric_type="IP")
    index.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
    _create(client, name, schema, index)


def _create(client: MilvusClient, name: str, schema: Any, index: Any) -> None:
    """An empty collection, ready to be searched; its indexes are built as rows come."""
    client.create_collection(name, schema=schema, consistency_level=CONSISTENCY)
    client.create_index(name, index, sync=False)
    client.load_collection(name)


def fits(client: MilvusClient, names: Names, collection: str, dimension: int) -> bool:
    """Whether Milvus holds nothing of a collection, or rows of this dimension."""
    if not client.has_collection(names.chunks(collection)):
        return True
    fields = client.describe_collection(names.chunks(collection))["fields"]
    return any(field["name"] == "dense" and int(field["params"]["dim"]) == dimension for field in fields)


def drop(client: MilvusClient, names: Names, collection: str) -> None:
    """Removes all that a collection has."""
    for name in names.of(collection):
        if client.has_collection(name):
            client.drop_collection(name)
