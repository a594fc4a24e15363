"""Questions, asked one way or another, and when their answers began."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from bench.common import cpu
from bench.common.stats import median
from citemesh.client.types import AskEvent, DeltaEvent, DoneEvent, Question
from citemesh.errors import PreconditionFailed

Ask = Callable[[Question], AsyncIterator[AskEvent]]
STEPS = ("queue", "plan", "retrieve", "rerank", "pack", "first_token")
"""What happens one after the other until the first text; the names are those of an answer's timings."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One answer: seconds to its first text, each step's ms, its text, and tokens of its prompt (cached: known)."""

    first_s: float
    steps: dict[str, float]
    text: str
    prompt_tokens: int
    cached_tokens: int

    @property
    def between_ms(self) -> float:
        """What no step accounts for: from the caller to the flow, and the first text's way back."""
        return 1000 * self.first_s - sum(self.steps.values())


@dataclass(slots=True)
class Asker:
    """One way to ask; `resting` are processes that must not work meanwhile."""

    name: str
    ask: Ask
    resting: Sequence[int] = ()
    answers: list[Asked] = field(default_factory=list)
    seconds: float = 0.0
    resting_cpu_s: float = 0.0

    async def question(self, text: str, max_tokens: int) -> None:
        """Asks, and reads the answer to its end. Raises PreconditionFailed where the model didn't write it."""
        cpu_before, started = cpu.cpu_s(self.resting), time.perf_counter()
        first_s, parts, done = 0.0, [], None
        question = Question(text, max_tokens=max_tokens, skip_cache=True)
        async with aclosing(self.ask(question)) as events:  # type: ignore[type-var]  # an async generator
            async for event in events:
                if isinstance(event, DeltaEvent):
                    first_s = first_s or time.perf_counter() - started
                    parts.append(event.text)
                done = event
        self.seconds += time.perf_counter() - started
        self.resting_cpu_s += cpu.cpu_s(self.resting) - cpu_before
        self.answers.append(_asked(text, first_s, "".join(parts), done))

    def first_s(self) -> list[float]:
        """Seconds to the first text of each answer."""
        return [answer.first_s for answer in self.answers]

    def tokens(self) -> str:
        """The prompts' length, and how much of it the model had read before, in words."""
        length = median([answer.prompt_tokens for answer in self.answers])
        return f"{length:.0f} ({median([answer.cached_tokens for answer in self.answers]):.0f} cached)"

    def step_ms(self, name: str) -> float:
        """Median of a step; "between" is what no step accounts for."""
        if name == "between":
            return median([answer.between_ms for answer in self.answers])
        return median([answer.steps[name] for answer in self.answers])


def _asked(question: str, first_s: float, text: str, done: AskEvent | None) -> Asked:
    if not isinstance(done, DoneEvent) or done.mode != "generated" or "first_token" not in done.timings:
        told = done.notice if isinstance(done, DoneEvent) else "it broke off"
        fault = f"the model did not answer {question!r}: {told}"
        raise PreconditionFailed("NOT_GENERATED", fault, "look at the mesh's logs; nothing can be compared so")
    steps = {name: done.timings[name] for name in STEPS}
    return Asked(first_s, steps, text, done.usage.prompt_tokens, done.usage.cached_tokens)
