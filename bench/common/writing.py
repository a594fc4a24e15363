"""Callers that have text written, and what they saw."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from bench.common import cpu
from bench.common.prompts import Ids
from bench.common.stats import median

Writer = Callable[[Ids, int], AsyncIterator[int]]
"""Takes a prompt and the most tokens to write; streams how many new tokens there are."""


@dataclass(slots=True)
class Turn:
    """What one turn took: tokens of all callers, seconds, each call's wait for the first and for each further token.

    resting_cpu_s is the processor time of the processes that should have rested.
    """

    tokens: int = 0
    seconds: float = 0.0
    first_s: list[float] = field(default_factory=list)
    next_s: list[float] = field(default_factory=list)
    resting_cpu_s: float = 0.0

    @property
    def tokens_per_s(self) -> float:
        """Of all callers together."""
        return self.tokens / self.seconds


@dataclass(slots=True)
class Side:
    """One way to have text written; `resting` are processes that must not work meanwhile."""

    name: str
    write: Writer
    resting: Sequence[int]
    turns: list[Turn] = field(default_factory=list)

    async def turn(self, prompts: Sequence[Sequence[Ids]], max_tokens: int) -> None:
        """Lets callers, one for each entry of prompts, send theirs one after the other."""
        turn, cpu_before, started = Turn(), cpu.cpu_s(self.resting), time.perf_counter()
        await asyncio.gather(*(self._caller(turn, mine, max_tokens) for mine in prompts))
        turn.seconds = time.perf_counter() - started
        turn.resting_cpu_s = cpu.cpu_s(self.resting) - cpu_before
        self.turns.append(turn)

    async def _caller(self, turn: Turn, prompts: Sequence[Ids], max_tokens: int) -> None:
        for prompt in prompts:
            times, tokens = [time.perf_counter()], 0
            async for count in self.write(prompt, max_tokens):
                tokens += count
                times.append(time.perf_counter())
            turn.tokens += tokens
            turn.first_s.append(times[1] - times[0])
            turn.next_s.append((times[-1] - times[1]) / max(1, tokens - 1))

    def per_turn(self) -> list[float]:
        """Tokens a second of each turn."""
        return [turn.tokens_per_s for turn in self.turns]

    def row(self) -> tuple[str, float, int, float, float, float]:
        """Name, tokens a second, tokens written, ms to the first token and for each further one, % at rest."""
        first = [each for turn in self.turns for each in turn.first_s]
        following = [each for turn in self.turns for each in turn.next_s]
        rest = 100 * sum(turn.resting_cpu_s for turn in self.turns) / sum(turn.seconds for turn in self.turns)
        tokens = sum(turn.tokens for turn in self.turns)
        return self.name, median(self.per_turn()), tokens, 1e3 * median(first), 1e3 * median(following), rest
