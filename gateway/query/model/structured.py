"""Small decisions by the language model: a short prompt, an answer held to a JSON schema, a tight limit of time."""

import asyncio
import json
import re
from contextlib import aclosing
from typing import Any

from citemesh.client.types import Sampling
from citemesh.errors import Unavailable
from gateway.query.model.catalog import Models
from gateway.query.pack.prompt import KNOWN_CONTROLS, tokenizer_of
from gateway.query.ports import GenerationPort, TokenizerPort

_CONTROLS = re.compile("|".join([*map(re.escape, KNOWN_CONTROLS), r"<\|[^<>|]{1,40}\|>"]))


class Structured:
    """Asks the model for JSON.

    Args:
        most_s: longest that one decision may take.
        tokens: most tokens of one decision.
    """

    def __init__(
        self, tokenizer: TokenizerPort, generation: GenerationPort, models: Models, most_s: float, tokens: int = 128
    ) -> None:
        self._tokenizer, self._generation, self._models = tokenizer, generation, models
        self._most_s, self._tokens = most_s, tokens

    async def ask(self, system: str, user: str, schema: dict[str, Any]) -> Any:
        """What the model writes, read as JSON.

        Raises Unavailable, or another error of a service, where it can't, takes too long, or is cut off on the way.
        """
        try:
            async with asyncio.timeout(self._most_s):
                text = await self._write(system, user, schema)
            return json.loads(text)
        except (TimeoutError, ValueError, RecursionError) as error:
            raise Unavailable("the language model", remedy=f"it made no decision: {type(error).__name__}") from error

    async def _write(self, system: str, user: str, schema: dict[str, Any]) -> str:
        model = await self._models.get()
        name = await tokenizer_of(self._tokenizer, model.tokenizer_digest)
        turns = [("system", system), ("user", plain(user))]
        chat = await self._tokenizer.render_chat(turns, name)
        if len(chat.ids) + self._tokens > model.max_tokens:
            raise Unavailable("the language model", remedy="the decision's prompt is too long for it")
        sampling = Sampling(0.0, max_tokens=self._tokens, json_schema=json.dumps(schema))
        stream = self._generation.generate(chat.ids, chat.digest, sampling, model.name)
        async with aclosing(stream) as deltas:  # type: ignore[type-var]  # an async generator behind the protocol
            return "".join([delta.text async for delta in deltas])


def plain(text: str) -> str:
    """A text without what a chat template would read as its own control tokens."""
    shorter = _CONTROLS.sub("", text)
    while shorter != text:
        text, shorter = shorter, _CONTROLS.sub("", shorter)
    return text
