"""Searches the collections of a question side by side."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from citemesh.client.types import Passage, Question, Search, SearchAnswer, SearchFilter
from citemesh.contract.bounds import DEFAULT_COLLECTION
from gateway.query.ports import RetrievalPort

Sequences = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What one query found.

    Attributes:
        passages: best first; of several collections, merged by their ranks.
        sequences: number of the last change that the search saw, by collection.
        notices: what the search itself says of its answer.
    """

    passages: tuple[Passage, ...]
    sequences: Sequences = ()
    notices: tuple[str, ...] = ()


class Searcher:
    """Asks the retrieval service."""

    def __init__(self, retrieval: RetrievalPort) -> None:
        self._retrieval = retrieval

    async def search(
        self, question: Question, query: str, top_k: int, mode: str = "hybrid", vectors_of: int | None = None
    ) -> SearchResult:
        """Passages for a query in all collections of a question.

        Args:
            vectors_of: passages of each collection, from the best, that come with token vectors; 0: all, None: none.

        Raises NotFound for an unknown collection, Unavailable where search is down.
        """
        names = collections(question)
        asked = Search(
            query,
            top_k=top_k,
            mode=mode,
            filter=chosen(question),
            with_token_ids=True,
            with_token_vectors=vectors_of is not None,
            token_vectors_of=vectors_of or 0,
        )
        answers = await self._together([replace(asked, collection=name) for name in names])
        notices = dict.fromkeys(chain.from_iterable(answer.notices for answer in answers))
        sequences = tuple((name, answer.sequence) for name, answer in zip(names, answers, strict=True))
        return SearchResult(tuple(merged(answers)[:top_k]), sequences, tuple(notices))

    async def sequences(self, question: Question) -> Sequences:
        """Number of the last change that each collection of a question has seen, by the cheapest search there is."""
        names = collections(question)
        cheap = Search(CHEAP, top_k=1, mode="lexical")
        answers = await self._together([replace(cheap, collection=name) for name in names])
        return tuple((name, answer.sequence) for name, answer in zip(names, answers, strict=True))

    async def _together(self, searches: Sequence[Search]) -> list[SearchAnswer]:
        """Each in a call of its own, so that a message holds one collection's passages; the first fault ends all."""
        tasks = [asyncio.ensure_future(self._retrieval.find(search)) for search in searches]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()


CHEAP = "\u2205"
"""A query of which no document holds a word: a lexical search for it reads no posting."""


def collections(question: Question) -> tuple[str, ...]:
    """The collections of a question, each once."""
    names = (question.collection, *question.more_collections)
    return tuple(dict.fromkeys(name or DEFAULT_COLLECTION for name in names))


def chosen(question: Question) -> SearchFilter:
    """The filter of a question; its source types are those of either field."""
    types = dict.fromkeys((*question.source_types, *question.filter.source_types))
    return replace(question.filter, source_types=tuple(types))


def merged(answers: Sequence[SearchAnswer]) -> list[Passage]:
    """Passages by rank: scores of different collections don't compare. Each chunk of a document stands once."""
    ranks = zip_longest(*(answer.passages for answer in answers))
    passages = [passage for rank in ranks for passage in rank if passage is not None]
    return list({(one.collection, one.chunk_id): one for one in reversed(passages)}.values())[::-1]
