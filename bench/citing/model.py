"""The language model, asked once for each prompt: what it wrote is kept, so that a run that was ended goes on."""

from contextlib import aclosing
from dataclasses import asdict

from bench.citing.lines import Lines, digest
from citemesh.client.types import Model, Sampling
from gateway.query.pack.prompt import Ids
from gateway.query.ports import GenerationPort


class Kept:
    """The model's texts by prompt."""

    def __init__(self, generation: GenerationPort, model: Model, lines: Lines) -> None:
        self._generation = generation
        self._lines = lines
        self.model = model

    async def write(self, ids: Ids, tokenizer_digest: str, sampling: Sampling) -> str:
        """All that the model writes after a prompt, markers included."""
        key = digest(self.model.name, ids, asdict(sampling))
        if (known := self._lines.get(key)) is None:
            known = await self._written(ids, tokenizer_digest, sampling)
            self._lines.put(key, known)
        return str(known)

    async def _written(self, ids: Ids, tokenizer_digest: str, sampling: Sampling) -> str:
        stream = self._generation.generate(ids, tokenizer_digest, sampling, self.model.name)
        async with aclosing(stream) as deltas:  # type: ignore[type-var]  # an async generator behind the protocol
            return "".join([delta.text async for delta in deltas])
