"""The error for vectors of another model than a collection's."""

from citemesh.errors import PreconditionFailed
from services.retrieval.engine import Embedding


def mismatch(collection: str, kept: Embedding, given: Embedding) -> PreconditionFailed:
    """Says which model a collection needs and which is loaded."""
    return PreconditionFailed(
        "MODEL_MISMATCH",
        f"collection {collection!r} holds embeddings of {kept.model} ({kept.dimension} dimensions, "
        f"{kept.digest[:12]}), not of {given.model} ({given.dimension}, {given.digest[:12]})",
        "start the service with the collection's model, or ingest into a new collection",
    )
