"""Requests that the retrieval service refuses, each by the name of its field, and those of the newer calls."""

import math
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from citemesh.api.retrieval.v1 import collection_service_pb2 as collections_pb
from citemesh.api.retrieval.v1 import document_service_pb2 as documents_pb
from citemesh.api.retrieval.v1 import retrieval_service_pb2 as pb
from citemesh.api.retrieval.v1.collection_service_pb2_grpc import CollectionServiceStub
from citemesh.api.retrieval.v1.document_service_pb2_grpc import DocumentServiceStub
from citemesh.api.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceStub
from citemesh.client.types import Search
from citemesh.errors import InvalidInput, NotFound, NotSupported
from tests.contract.retrieval.retrieval_service import Service, note, service

__all__ = ["service"]


def condition(**must: Any) -> pb.SearchFilter:
    return pb.SearchFilter(conditions=[pb.MetadataCondition(**{"key": "k", **must})])


def span(low: float | None, high: float | None) -> pb.NumberRange:
    return pb.NumberRange(**{name: it for name, it in (("from", low), ("to", high)) if it is not None})


FILTERS: list[tuple[pb.SearchFilter, str]] = [
    (pb.SearchFilter(domains=["-"]), "filter.domains"),
    (pb.SearchFilter(document_ids=["x"] * 1001), "filter.document_ids"),
    (pb.SearchFilter(conditions=[pb.MetadataCondition(key="k")] * 65), "filter.conditions"),
    (condition(key=""), "filter.conditions[0].key"),
    (condition(key="x" * 257), "filter.conditions[0].key"),
    (condition(), "filter.conditions[0]"),
    (condition(any_of=pb.AnyOf()), "filter.conditions[0].any_of"),
    (condition(any_of=pb.AnyOf(values=["x"] * 1001)), "filter.conditions[0].any_of"),
    (condition(number=span(None, None)), "filter.conditions[0].number"),
    (condition(number=span(2, 1)), "filter.conditions[0].number"),
    (condition(number=span(math.nan, 1)), "filter.conditions[0].number"),
    (condition(text=pb.TextRange(to="")), "filter.conditions[0].text"),
    (condition(text=pb.TextRange(**{"from": "b", "to": "a"})), "filter.conditions[0].text"),
]
SEARCHES: list[tuple[dict[str, Any], str]] = [
    ({"query": ""}, "query"),
    ({"query": "  \n"}, "query"),
    ({"query": "x" * 32_769}, "query"),
    ({"query": "x", "top_k": -1}, "top_k"),
    ({"query": "x", "top_k": 1001}, "top_k"),
    ({"query": "x", "top_k": 100_000}, "top_k"),
    ({"query": "x", "mode": 77}, "mode"),
    ({"query": "x", "fusion": 77}, "fusion"),
    ({"query": "x", "view": 77}, "view"),
    ({"query": "x", "view": pb.PASSAGE_VIEW_REFERENCE, "with_token_ids": True}, "view"),
    ({"query": "x", "view": pb.PASSAGE_VIEW_REFERENCE, "with_token_vectors": True}, "view"),
    ({"query": "x", "dense_weight": -0.1}, "dense_weight"),
    ({"query": "x", "dense_weight": 1.1}, "dense_weight"),
    ({"query": "x", "dense_weight": math.nan}, "dense_weight"),
    *(({"query": "x", "filter": chosen}, field) for chosen, field in FILTERS),
]


def violation(error: grpc.aio.AioRpcError) -> str:
    """The field that a refusal names."""
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    status = rpc_status.from_call(error)  # type: ignore[arg-type]  # it reads what both kinds of errors have
    assert status is not None
    request = error_details_pb2.BadRequest()
    assert any(packed.Unpack(request) for packed in status.details)
    (found,) = request.field_violations
    assert found.description
    assert str(error.details()).startswith(found.field)
    return str(found.field)


async def test_a_bad_search_names_its_field(service: Service) -> None:
    stub = RetrievalServiceStub(service.channel)
    for fields, field in SEARCHES:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Search(pb.SearchRequest(**fields))
        assert violation(caught.value) == field
        good = pb.SearchRequest(query="x")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.BatchSearch(pb.BatchSearchRequest(searches=[good, pb.SearchRequest(**fields)]))
        assert violation(caught.value) == f"searches[1].{field}"


async def test_references_name_the_passages_that_are_answered_whole(service: Service) -> None:
    await service.last(*(note(f"{at}.md", f"# Tea\n\nGreen tea 绿茶 🍵 number {at}.", title="T") for at in range(3)))
    asked = [Search("green tea", keep_duplicates=True, view=view) for view in ("", "full", "reference")]
    default, whole, named = await service.mesh.retrieval.find_many(asked)
    assert default == whole == await service.mesh.retrieval.find(asked[0])
    assert named == await service.mesh.retrieval.find(asked[2])
    assert len(named.passages) == 3
    for one, other in zip(named.passages, whole.passages, strict=True):
        assert (one.chunk_id, one.document_id, one.collection) == (other.chunk_id, other.document_id, "default")
        assert (one.fused, one.dense, one.lexical) == (other.fused, other.dense, other.lexical)
        assert (one.title, one.uri, one.text, one.metadata, one.location.headings) == ("", "", "", {}, ())
    request = pb.SearchRequest(query="green tea", view=pb.PASSAGE_VIEW_REFERENCE)
    (first, *_) = (await RetrievalServiceStub(service.channel).Search(request)).passages
    assert {field.name for field, _ in first.ListFields()} == {"chunk_id", "document_id", "collection", "scores"}


async def test_bounds_that_are_just_kept_are_taken(service: Service) -> None:
    stub = RetrievalServiceStub(service.channel)
    await service.last(note("a", "About apples."))
    found = await stub.Search(pb.SearchRequest(query="x" * 32_768, top_k=1000, dense_weight=0))
    assert found.sequence_number >= 1
    for weight in (0.0, 1.0):
        assert (await stub.Search(pb.SearchRequest(query="apples", top_k=0, dense_weight=weight))).passages
    same = condition(number=span(1, 1))
    assert not (await stub.Search(pb.SearchRequest(query="apples", filter=same))).passages


async def test_a_batch_is_bounded(service: Service) -> None:
    stub = RetrievalServiceStub(service.channel)
    for count in (0, 257):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.BatchSearch(pb.BatchSearchRequest(searches=[pb.SearchRequest(query="x")] * count))
        assert violation(caught.value) == "searches"
    await service.last(note("a", "About apples."), note("b", "About pears."))
    found = await stub.BatchSearch(pb.BatchSearchRequest(searches=[pb.SearchRequest(query="pears", top_k=1)] * 256))
    assert [it.passages[0].text for it in found.results] == ["About pears."] * 256


async def test_nothing_is_deleted_by_what_is_left_out(service: Service) -> None:
    await service.last(note("a", "About apples."))
    stub = DocumentServiceStub(service.channel)
    for ids in ([], [""], ["a", ""], ["x"] * 1001):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.DeleteDocuments(documents_pb.DeleteDocumentsRequest(document_ids=ids))
        assert violation(caught.value) == "document_ids"
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await CollectionServiceStub(service.channel).DeleteCollection(collections_pb.DeleteCollectionRequest())
    assert violation(caught.value) == "name"
    assert (await service.mesh.collections.get("default")).documents == 1


async def test_a_collection_is_dropped_and_made_again(service: Service) -> None:
    mesh = service.mesh
    await mesh.collections.create("notes")
    await service.last(note("a", "Only in notes.", collection="notes"))
    await mesh.collections.delete("notes")
    for call in (mesh.collections.delete("notes"), mesh.retrieval.search("x", "notes"), mesh.documents.list("notes")):
        with pytest.raises(NotFound, match="default"):
            await call
    await mesh.collections.create("notes")
    assert not await mesh.retrieval.search("only", "notes")
    with pytest.raises(InvalidInput, match="name"):
        await mesh.collections.delete("")


async def test_a_snapshot_is_made_where_there_is_a_disk(service: Service) -> None:
    await service.last(note("a", "About apples."))
    if service.settings.engine == "fake":
        with pytest.raises(NotSupported):
            await service.mesh.collections.snapshot()
        return
    made = await service.mesh.collections.snapshot("default")
    assert (made.documents, made.chunks) == (1, 1)
    assert str(service.settings.state_dir) in str(made.directory)
    with pytest.raises(NotFound, match="default"):
        await service.mesh.collections.snapshot("nobody")


async def test_searches_of_several_collections_answer_in_their_order(service: Service) -> None:
    await service.mesh.collections.create("notes")
    await service.last(note("a", "About apples."), note("b", "About pears.", collection="notes"))
    searches = [Search("about", "notes"), Search("about"), Search("about", "notes", mode="lexical")]
    found = await service.mesh.retrieval.find_many(searches)
    assert [it.passages[0].text for it in found] == ["About pears.", "About apples.", "About pears."]
