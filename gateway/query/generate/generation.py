"""Lets the model write: its stream becomes deltas without markers, and sentences for the checker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from citemesh.client.types import Delta, Sampling, Usage
from citemesh.errors import (
    CiteMeshError,
    DeadlineExceeded,
    Unavailable,
)
from gateway.query.answers.transcript import Transcript
from gateway.query.cite.citations import Checker
from gateway.query.deadline import Deadline
from gateway.query.generate.claims import AnswerPiece, ClaimReader
from gateway.query.generate.repetition import LoopWatch
from gateway.query.limits import Limits
from gateway.query.pack.packing import Packed
from gateway.query.ports import GenerationPort

END_S = 0.5
"""Seconds that a stream may take to end after its finish; it follows at once."""
STOP = ("\nQuestion:", "\nSources:", "\n[1]", "<|im_end|>")


class OutOfTime(DeadlineExceeded):
    """The time set aside for writing is over."""


@dataclass(slots=True)
class GenerationOutcome:
    """How the writing ended. finish: "stop", "length", "abort" or "loop", or "" with what broke it in error."""

    finish: str = ""
    usage: Usage = field(default_factory=Usage)
    error: CiteMeshError | None = None
    first_token_s: float | None = None
    seconds: float = 0.0


class Writer:
    """One answer's writing."""

    def __init__(self, generation: GenerationPort, limits: Limits, transcript: Transcript, checker: Checker) -> None:
        self._generation = generation
        self._limits = limits
        self._transcript = transcript
        self._checker = checker
        self._reader = ClaimReader()
        self._loops = LoopWatch()

    async def write(self, packed: Packed, sampling: Sampling, model: str, until: Deadline) -> GenerationOutcome:
        """Streams until the model ends, breaks or its time is over; what was written is always kept whole."""
        outcome = GenerationOutcome()
        start_s = asyncio.get_running_loop().time()
        try:
            await self._stream(packed, sampling, model, until, outcome)
        except CiteMeshError as error:
            outcome.error = error
        await self._take(self._reader.close())
        outcome.seconds = asyncio.get_running_loop().time() - start_s
        return outcome

    async def _stream(
        self, packed: Packed, sampling: Sampling, model: str, until: Deadline, outcome: GenerationOutcome
    ) -> None:
        start_s = asyncio.get_running_loop().time()
        wait_s = self._limits.first_token_s
        stream = self._generation.generate(packed.ids, packed.digest, sampling, model)
        async with aclosing(stream) as deltas:  # type: ignore[type-var]  # an async generator behind the protocol
            while (delta := await _next(deltas, wait_s, until)) is not None:
                if delta.text and outcome.first_token_s is None:
                    outcome.first_token_s = asyncio.get_running_loop().time() - start_s
                    wait_s = self._limits.stall_s
                await self._take(self._reader.feed(delta.text))
                outcome.usage = delta.usage or outcome.usage
                outcome.finish = delta.finish
                if delta.finish:
                    await _read_on(deltas)
                    return
                if self._loops.feed(delta.text):
                    outcome.finish = "loop"
                    return
        raise Unavailable("generation", remedy="its stream ended without a finish")

    async def _take(self, part: AnswerPiece) -> None:
        """Sends clean text and hands on the sentences that it completed."""
        await self._transcript.say(part.text)
        for claim in part.claims:
            self._checker.add(claim)


async def _read_on(deltas: AsyncIterator[Delta]) -> None:
    """Reads to the stream's own end, so that the call ends as done: leaving it now would cancel it.

    The answer is whole already, so that neither a late end nor an error of one changes it.
    """
    with suppress(CiteMeshError, TimeoutError):
        async with asyncio.timeout(END_S):
            while await anext(deltas, None) is not None:
                pass


async def _next(deltas: AsyncIterator[Delta], wait_s: float, until: Deadline) -> Delta | None:
    """The next delta, or None at the end. Raises OutOfTime or DeadlineExceeded where none comes in time.

    Only the wait for the model is limited: a cut within sending would lose text.
    """
    try:
        async with asyncio.timeout(min(wait_s, until.remaining())):
            return await anext(deltas, None)
    except TimeoutError:
        if until.remaining() <= 0:
            raise OutOfTime("the answer was being written") from None
        raise DeadlineExceeded(f"the language model wrote nothing for {wait_s:g} s") from None
