"""Collections: sets of documents that are searched together, and copies of them."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from citemesh.errors import PreconditionFailed


@dataclass(frozen=True, slots=True)
class Embedding:
    """The embedding model that a collection is fixed to; digest is the hash of all that decides its vectors."""

    model: str
    digest: str
    dimension: int


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A set of documents that are searched together."""

    name: str
    embedding: Embedding
    documents: int
    chunks: int
    created_at: datetime
    unreadable_chunks: int = 0
    """Chunks without a vector: the embedding model can't read their text."""
    index: str = "flat"
    """Kind of vector index that serves it now."""


@dataclass(frozen=True, slots=True)
class StoreCopy:
    """A consistent copy: where it is, the last change that it holds, and how much."""

    directory: Path
    sequence: int
    documents: int
    chunks: int


def model_mismatch(collection: str, fixed: Embedding, loaded: Embedding) -> PreconditionFailed:
    """The error for vectors of another model than a collection is fixed to; it names both."""
    return PreconditionFailed(
        "MODEL_MISMATCH",
        f"collection {collection!r} holds embeddings of {fixed.model} ({fixed.dimension} dimensions, "
        f"{fixed.digest[:12]}), not of {loaded.model} ({loaded.dimension}, {loaded.digest[:12]})",
        "start the service with the collection's model, or ingest into a new collection",
    )
