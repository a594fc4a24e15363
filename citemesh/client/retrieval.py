"""Client of the retrieval service's searches.

Every call says in a header which collection it is about: where the collections are spread over replicas, the mesh
finds the one that holds it by that. So a call is about one collection.
"""

import asyncio
from collections.abc import Sequence
from itertools import chain

from citemesh.api.retrieval.v1 import retrieval_service_pb2 as pb
from citemesh.api.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceStub
from citemesh.client import convert
from citemesh.client.transport.caller import Caller, about_collection
from citemesh.client.types import Embedded, Passage, Search, SearchAnswer, SearchFilter
from citemesh.contract.bounds import DEFAULT_COLLECTION


class RetrievalClient:
    """Finds passages, and makes vectors of texts."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = RetrievalServiceStub(caller.channel)

    async def search(
        self,
        query: str,
        collection: str = "",
        top_k: int = 10,
        mode: str = "",
        source_types: Sequence[str] = (),
        document_ids: Sequence[str] = (),
        with_token_ids: bool = False,
        with_token_vectors: bool = False,
    ) -> tuple[Passage, ...]:
        """Returns passages, best first. mode: "", "hybrid", "dense" or "lexical"."""
        restriction = SearchFilter(document_ids=tuple(document_ids), source_types=tuple(source_types))
        search = Search(query, collection, top_k, mode, restriction, with_token_ids, with_token_vectors)
        return (await self.find(search)).passages

    async def find(self, search: Search) -> SearchAnswer:
        """Returns the passages that a search finds, with its notices."""
        request, headers = convert.search(search), about_collection(search.collection)
        answer = await self._caller.unary(self._stub.Search, request, headers=headers)
        return convert.search_answer(answer, search.view)

    async def find_many(self, searches: Sequence[Search]) -> tuple[SearchAnswer, ...]:
        """Returns one answer a search, in their order; 1 to 256 searches. Makes one call a collection, all at once."""
        places: dict[str, list[int]] = {}
        for at, search in enumerate(searches):
            places.setdefault(search.collection or DEFAULT_COLLECTION, []).append(at)
        calls = [self._find_in(name, [searches[at] for at in ats]) for name, ats in places.items() or [("", [])]]
        answers = dict(zip(chain(*places.values()), chain(*await asyncio.gather(*calls)), strict=True))
        return tuple(answers[at] for at in range(len(searches)))

    async def embed(self, texts: Sequence[str], as_queries: bool = False) -> Embedded:
        """Returns vectors of 1 to 256 texts, embedded as documents are, or as questions."""
        role = "EMBED_ROLE_QUERY" if as_queries else "EMBED_ROLE_PASSAGE"
        answer = await self._caller.unary(self._stub.Embed, pb.EmbedRequest(texts=texts, role=role))
        vectors = tuple(tuple(vector.values) for vector in answer.vectors)
        return Embedded(vectors, answer.embedding_model, answer.tokens)

    async def _find_in(self, collection: str, searches: Sequence[Search]) -> list[SearchAnswer]:
        request = pb.BatchSearchRequest(searches=map(convert.search, searches))
        answer = await self._caller.unary(self._stub.BatchSearch, request, headers=about_collection(collection))
        return [convert.search_answer(part, search.view) for search, part in zip(searches, answer.results, strict=True)]
