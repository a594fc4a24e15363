"""Token ids of passages for the generation model, so that a prompt is put together without tokenizing again.

They come from the tokenizer service. Where that is down, a document is stored without them and they are filled in
later: passages without ids say so (no ids, no digest), and ids of another tokenizer are replaced, never mixed.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from citemesh.errors import CiteMeshError, Unavailable
from citemesh.kit import telemetry
from services.retrieval.engine import TokenBacklog
from services.retrieval.types.chunk import Chunk, TokenIds

log = logging.getLogger(__name__)
_AT_ONCE = 128
_PROBE = "passage"


class PassageTokenizer(Protocol):
    """The generation model's tokenizer."""

    async def encode(self, texts: Sequence[str]) -> list[TokenIds]:
        """Ids of each text, without special ones. Raises Unavailable, Overloaded, DeadlineExceeded."""


class NoTokenizer:
    """Where no tokenizer service is set: passages are stored without ids."""

    async def encode(self, texts: Sequence[str]) -> list[TokenIds]:
        """Nothing for each."""
        return [TokenIds() for _ in texts]


class TokenFiller:
    """Gives ids to chunks that lack them: after a start, after an ingest without a tokenizer, after a new model.

    Args:
        interval_s: seconds between looks at the tokenizer; a failure waits as long.
    """

    def __init__(self, backlog: TokenBacklog, tokenizer: PassageTokenizer, interval_s: float) -> None:
        self._backlog = backlog
        self._tokenizer = tokenizer
        self._interval_s = interval_s
        self._needed = True
        self._done_for = ""
        self._try_again_at = 0.0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins in the background."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Ends; what is not filled is filled after the next start."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def encode(self, texts: Sequence[str]) -> list[TokenIds]:
        """Ids of texts; none for each where the tokenizer can't answer, which are filled in later.

        After a failure the tokenizer is left alone for an interval, so that it can't slow every document down.
        """
        if time.monotonic() >= self._try_again_at:
            try:
                return await self._tokenizer.encode(texts)
            except CiteMeshError as error:
                log.warning("passages are stored without token ids for now: %s", error)
                self._try_again_at = time.monotonic() + self._interval_s
        return [TokenIds() for _ in texts]

    def stored(self, chunks: Sequence[Chunk]) -> None:
        """Notes chunks that were committed just now: those without ids, or with old ones, are looked for again."""
        if any(chunk.tokens.digest != self._done_for for chunk in chunks):
            self._needed = True

    async def fill(self) -> None:
        """Fills in all that lacks ids of the tokenizer as it is now."""
        with telemetry.untraced():
            digest = (await self._tokenizer.encode([_PROBE]))[0].digest
        if not digest or (digest == self._done_for and not self._needed):
            return
        self._needed = False
        try:
            while chunks := await self._backlog.without_tokens(digest, _AT_ONCE):
                await self._fill(chunks, digest)
        except BaseException:
            self._needed = True
            raise
        self._done_for = digest

    async def _fill(self, chunks: Sequence[Chunk], digest: str) -> None:
        encoded = await self._tokenizer.encode([chunk.text for chunk in chunks])
        if any(tokens.digest != digest for tokens in encoded):
            raise Unavailable("the tokenizer, which changed meanwhile,")
        await self._backlog.fill_tokens({chunk.chunk_id: tokens for chunk, tokens in zip(chunks, encoded, strict=True)})

    async def _run(self) -> None:
        while True:
            try:
                await self.fill()
            except CiteMeshError as error:
                log.debug("token ids are filled in later: %s", error)
            except Exception:
                log.exception("token ids could not be filled in")
            await asyncio.sleep(self._interval_s)
