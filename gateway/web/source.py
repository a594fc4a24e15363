"""What a web search is, and how it stands beside the collections."""

import itertools
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from citemesh.client.types import Passage, Search, SearchAnswer, SearchFilter
from citemesh.errors import CiteMeshError, NotSupported, PermissionDenied
from gateway.query.ports import RetrievalPort, is_service_error

log = logging.getLogger(__name__)
DOWN = "The web was not searched: its search engine is not available."


class WebSource(Protocol):
    """Searches the web."""

    async def search(self, query: str, search_filter: SearchFilter, most: int) -> tuple[Passage, ...]:
        """Passages, best first. Raises Unavailable where the search engine doesn't answer as it should."""
        ...


class WithWeb:
    """A RetrievalPort that asks the web for one collection's name, and the retrieval service for all others.

    Args:
        name: the collection that stands for the web.
        allowed: whether the current call may reach a collection.
    """

    def __init__(self, retrieval: RetrievalPort, web: WebSource, name: str, allowed: Callable[[str], bool]) -> None:
        self._retrieval, self._web, self._name, self._allowed = retrieval, web, name, allowed
        self._changes = itertools.count(1)

    async def find(self, search: Search) -> SearchAnswer:
        """Passages for a search; of the web, each answer is of a change of its own, so that none is kept."""
        if search.collection != self._name:
            return await self._retrieval.find(search)
        if not self._allowed(self._name):
            raise PermissionDenied(f"this key may not reach {self._name!r}", "use a key that may")
        check(search.filter)
        if not any(char.isalnum() for char in search.query):
            return SearchAnswer((), next(self._changes))
        try:
            passages = await self._web.search(search.query, search.filter, search.top_k)
        except CiteMeshError as error:
            if not is_service_error(error):
                raise
            log.warning("the web can't be searched: %s", error)
            return SearchAnswer((), next(self._changes), (DOWN,))
        return SearchAnswer(tuple(replace(passage, collection=self._name) for passage in passages), next(self._changes))


def check(search_filter: SearchFilter) -> None:
    """Raises NotSupported for what a web search can't be held to."""
    if search_filter != SearchFilter(domains=search_filter.domains, languages=search_filter.languages):
        raise NotSupported("filter: more than domains and languages, of the web", "leave the web out, or the filter")
