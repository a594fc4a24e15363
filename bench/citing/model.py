"""The language model, asked once for each prompt: what it wrote is kept, so that a run that was ended goes on."""

import hashlib
import json
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path

from citemesh.client.types import Model, Sampling
from gateway.query.ports import GenerationPort
from gateway.query.prompt import Ids


class Kept:
    """Texts by prompt, in memory and one a line in a file.

    Args:
        path: the file; None keeps nothing behind.
    """

    def __init__(self, generation: GenerationPort, model: Model, path: Path | None) -> None:
        self._generation = generation
        self._path = path
        self.model = model
        lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
        self._known: dict[str, str] = dict(map(json.loads, lines))

    async def write(self, ids: Ids, digest: str, sampling: Sampling) -> str:
        """All that the model writes after a prompt, markers included."""
        key = hashlib.sha256(repr((self.model.name, ids, asdict(sampling))).encode()).hexdigest()
        if key not in self._known:
            self._known[key] = await self._written(ids, digest, sampling)
            if self._path:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([key, self._known[key]], ensure_ascii=False) + "\n")
        return self._known[key]

    async def _written(self, ids: Ids, digest: str, sampling: Sampling) -> str:
        stream = self._generation.generate(ids, digest, sampling, self.model.name)
        async with aclosing(stream) as deltas:  # type: ignore[type-var]  # an async generator behind the protocol
            return "".join([delta.text async for delta in deltas])
