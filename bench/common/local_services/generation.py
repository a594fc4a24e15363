"""The generation service without its service."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

from citemesh.client.types import Delta, Model, Sampling, Usage
from citemesh.kit.settings import load
from services.generation.engine import Delta as EngineDelta
from services.generation.engine import Sampling as EngineSampling
from services.generation.engine import Work
from services.generation.host import Host
from services.generation.main import make_engine
from services.generation.settings import GenerationSettings


class LocalGeneration:
    """GenerationPort over the service's host."""

    def __init__(self, host: Host, settings: GenerationSettings) -> None:
        self._host = host
        self._settings = settings

    async def generate(
        self, ids: Sequence[int], digest: str = "", sampling: Sampling | None = None, model: str = ""
    ) -> AsyncIterator[Delta]:
        """What the model writes."""
        work = Work(tuple(ids), self._sampling(sampling or Sampling()))
        async with aclosing(self._host.generate(work, self._settings.timeout_s)) as deltas:
            async for delta in deltas:
                yield _delta(delta)

    async def list(self) -> tuple[Model, ...]:
        """The loaded model."""
        facts, state = self._host.facts, await self._host.state()
        return (
            Model(facts.name, facts.max_tokens, facts.tokenizer_digest, facts.engine, state.running, state.waiting),
        )

    def _sampling(self, asked: Sampling) -> EngineSampling:
        """Zeros take the service's defaults, as its protos say."""
        return EngineSampling(
            temperature=asked.temperature,
            top_p=asked.top_p or 1.0,
            max_tokens=asked.max_tokens or self._settings.default_max_tokens,
            stop=asked.stop,
            seed=asked.seed,
            repetition_penalty=asked.repetition_penalty or 1.0,
        )


def _delta(delta: EngineDelta) -> Delta:
    used = delta.usage
    usage = Usage(used.prompt_tokens, used.completion_tokens, used.cached_tokens) if used else None
    return Delta(delta.text, delta.ids, delta.finish.value if delta.finish else "", usage)


@asynccontextmanager
async def local_generation() -> AsyncIterator[LocalGeneration]:
    """A generation service as its settings say. Raises as its service does when it starts."""
    settings = load(GenerationSettings)
    host = Host(make_engine(settings), settings.max_requests)
    await host.start()
    try:
        yield LocalGeneration(host, settings)
    finally:
        await host.stop()
