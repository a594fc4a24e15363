"""Modes of a search: which parts answer it, and how their scores make one order. The same for every engine."""

from collections.abc import Sequence

from citemesh.errors import PreconditionFailed
from services.retrieval.search.fusion import Fused, Scores, Weights, fuse, fuse_ranks, rank
from services.retrieval.types.query import Mode, Query

UNREADABLE_SHARE = 0.1
"""Share of unreadable chunks over which the dense part would speak for too few."""


def answering_mode(query: Query, chunks: int, unreadable: int) -> tuple[Mode, tuple[str, ...]]:
    """The mode that a query is answered in, and remarks for a reader.

    chunks, unreadable: how many the collection holds, and how many of them have no vector. Raises PreconditionFailed
    for a dense search without a vector: no other part answers in its place.
    """
    if query.mode == "lexical":
        return "lexical", ()
    if query.vector is None or query.embedding is None:
        if query.mode == "dense":
            raise PreconditionFailed(
                "UNREADABLE_QUERY", "the embedding model can't read the query", "search in mode lexical or hybrid"
            )
        return "lexical", ("the embedding model can't read the query: it was searched for by its words alone",)
    if unreadable <= UNREADABLE_SHARE * chunks:
        return query.mode, ()
    share = f"{unreadable} of {chunks} chunks of collection {query.collection!r} can't be read by its embedding model"
    if query.mode == "dense":
        return "dense", (f"{share}: they are not among these",)
    return "lexical", (f"{share}: it was searched by words alone",)


def weights_of(query: Query, default: Weights) -> Weights:
    """How much each part counts."""
    share = query.dense_weight
    return default if share is None else Weights(share, 1 - share)


def ordered(
    query: Query,
    mode: Mode,
    dense: Scores,
    lexical: Scores,
    default: Weights,
    most: int,
    least: float | None = None,
) -> Sequence[Fused]:
    """Chunks of both parts in one order, best first, at most `most`. least: a cosine that means nothing, if known."""
    if mode != "hybrid":
        return rank(dense, lexical, most)
    if query.fusion == "reciprocal-rank":
        return fuse_ranks(dense, lexical, weights_of(query, default), most)
    return fuse(dense, lexical, weights_of(query, default), most, least)
