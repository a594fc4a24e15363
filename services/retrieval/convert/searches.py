"""Searches, with every check of a field."""

from citemesh.api.retrieval.v1 import retrieval_service_pb2 as pb
from citemesh.contract.bounds import DEFAULT_RESULTS, LONGEST_QUERY, MOST_RESULTS, MOST_SEARCHES
from citemesh.errors import InvalidInput
from services.retrieval.convert import collections, filters
from services.retrieval.convert.pages import bounded
from services.retrieval.types.query import EVERYTHING, Fusion, Mode, Query, View

_MODES: dict[int, Mode] = {
    pb.SEARCH_MODE_UNSPECIFIED: "hybrid",
    pb.SEARCH_MODE_HYBRID: "hybrid",
    pb.SEARCH_MODE_DENSE: "dense",
    pb.SEARCH_MODE_LEXICAL: "lexical",
}
_FUSIONS: dict[int, Fusion] = {
    pb.FUSION_UNSPECIFIED: "min-max",
    pb.FUSION_MIN_MAX: "min-max",
    pb.FUSION_RECIPROCAL_RANK: "reciprocal-rank",
}
_VIEWS: dict[int, View] = {
    pb.PASSAGE_VIEW_UNSPECIFIED: "full",
    pb.PASSAGE_VIEW_FULL: "full",
    pb.PASSAGE_VIEW_REFERENCE: "reference",
}


def query(request: pb.SearchRequest) -> Query:
    """A search, without its vector."""
    text = request.query
    if not text.strip():
        raise InvalidInput("query", "it is empty", "ask something")
    if len(text) > LONGEST_QUERY:
        raise InvalidInput("query", f"it has {len(text)} characters", f"ask in up to {LONGEST_QUERY}")
    if request.mode not in _MODES:
        raise InvalidInput("mode", f"{request.mode} is no search mode", "leave it out for hybrid")
    if not 0 <= request.token_vectors_of <= MOST_RESULTS:
        raise InvalidInput(
            "token_vectors_of", f"{request.token_vectors_of} is out of range", f"use 0 to {MOST_RESULTS}"
        )
    if request.fusion not in _FUSIONS:
        raise InvalidInput("fusion", f"{request.fusion} is no fusion", "leave it out for min-max")
    if request.view not in _VIEWS:
        raise InvalidInput("view", f"{request.view} is no view", "leave it out for full")
    if _VIEWS[request.view] == "reference" and (request.with_token_ids or request.with_token_vectors):
        raise InvalidInput("view", "references have no token ids or vectors", "ask for the full view, or without them")
    return Query(
        collection=collections.name_of(request.collection),
        text=text,
        top_k=bounded("top_k", request.top_k, DEFAULT_RESULTS, MOST_RESULTS),
        mode=_MODES[request.mode],
        filter=filters.search_filter(request.filter) if request.HasField("filter") else EVERYTHING,
        with_token_ids=request.with_token_ids,
        with_token_vectors=request.with_token_vectors,
        fusion=_FUSIONS[request.fusion],
        dense_weight=_dense_weight(request),
        keep_duplicates=request.keep_duplicates,
        token_vectors_of=request.token_vectors_of,
        view=_VIEWS[request.view],
    )


def queries(request: pb.BatchSearchRequest) -> list[Query]:
    """Several searches. Raises InvalidInput, whose field names the search."""
    if not 0 < len(request.searches) <= MOST_SEARCHES:
        raise InvalidInput("searches", f"it has {len(request.searches)} entries", f"send 1 to {MOST_SEARCHES}")
    checked = []
    for number, search in enumerate(request.searches):
        try:
            checked.append(query(search))
        except InvalidInput as error:
            raise InvalidInput(f"searches[{number}].{error.field}", error.fault, error.remedy) from None
    return checked


def _dense_weight(request: pb.SearchRequest) -> float | None:
    if not request.HasField("dense_weight"):
        return None
    if not 0 <= request.dense_weight <= 1:  # NaN too is not within
        raise InvalidInput("dense_weight", f"{request.dense_weight:g} is out of range", "send 0 to 1, or leave it out")
    return request.dense_weight
