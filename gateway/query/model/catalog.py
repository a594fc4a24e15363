"""Which model answers, asked of the generation service now and then."""

import asyncio

from citemesh.client.types import Model
from citemesh.errors import Unavailable
from gateway.query.ports import GenerationPort

KEEP_S = 30.0


class Models:
    """Keeps the default model's description for a while."""

    def __init__(self, generation: GenerationPort) -> None:
        self._generation = generation
        self._model: Model | None = None
        self._until = 0.0

    async def get(self) -> Model:
        """The default model. Raises Unavailable where generation is down or has none."""
        now = asyncio.get_running_loop().time()
        if self._model is None or now > self._until:
            self._model = await self._ask()
            self._until = now + KEEP_S
        return self._model

    def forget(self) -> None:
        """Asks anew next time: generation failed, and may come back with another model."""
        self._model = None

    async def _ask(self) -> Model:
        self._model = None
        models = await self._generation.list()
        if not models:
            raise Unavailable("a language model")
        return models[0]
