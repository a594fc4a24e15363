"""Documents that are stored together: one commit for many costs little more than for one."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from citemesh.errors import CiteMeshError
from services.retrieval.engine import NewDocument
from services.retrieval.ingestion.read.parsed import IngestFault

MOST_DOCUMENTS = 256
MOST_BYTES = 8 * 2**20
PutMany = Callable[[Sequence[NewDocument]], Awaitable[None]]


def groups(documents: Sequence[NewDocument]) -> Iterator[Sequence[NewDocument]]:
    """Documents of one collection in groups of one commit each: bounded, so that no other change waits for long."""
    start = size = 0
    for at, document in enumerate(documents):
        more = _bytes(document)
        if at > start and (at - start == MOST_DOCUMENTS or size + more > MOST_BYTES):
            yield documents[start:at]
            start, size = at, 0
        size += more
    if documents:
        yield documents[start:]


@dataclass(slots=True, eq=False)
class _Waiting:
    """A document that waits for its commit, and what became of it."""

    document: NewDocument
    done: bool = False
    error: CiteMeshError | IngestFault | None = None


class Commits:
    """The commits of one stream: documents that wait while one is made share the next.

    Of one stream alone, since what a call may reach is looked up in the call that commits.
    """

    def __init__(self, put_many: PutMany) -> None:
        self._put_many = put_many
        self._turn = asyncio.Lock()
        self._waiting: dict[_Waiting, None] = {}

    async def put(self, document: NewDocument) -> None:
        """Returns once the document is stored. Raises as the engine does; what goes wrong with another stays its own.

        Both the lock and the queue keep the order of arrival, so whose turn it is and is not done stands first.
        """
        mine = _Waiting(document)
        self._waiting[mine] = None
        try:
            async with self._turn:
                if not mine.done:
                    await self._commit(self._group())
        finally:
            self._waiting.pop(mine, None)
        if mine.error is not None:
            raise mine.error

    def _group(self) -> list[_Waiting]:
        """The first of those that wait, as many as go into one commit."""
        waiting = list(self._waiting)
        name = waiting[0].document.info.collection
        same = [one for one in waiting if one.document.info.collection == name]
        first = next(groups([one.document for one in same]))
        return same[: len(first)]

    async def _commit(self, group: Sequence[_Waiting]) -> None:
        try:
            await self._put_many([one.document for one in group])
        except (CiteMeshError, IngestFault) as error:
            if len(group) > 1:
                for one in group:
                    await self._commit([one])
                return
            group[0].error = error
        for one in group:
            one.done = True
            self._waiting.pop(one, None)


def _bytes(document: NewDocument) -> int:
    """About what a document takes in the store."""
    chunks = sum(2 * len(it.text) + 4 * len(it.tokens.ids) + len(it.token_vectors.packed) for it in document.chunks)
    return len(document.text) + document.vectors.nbytes + chunks
