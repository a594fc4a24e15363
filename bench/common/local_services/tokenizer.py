"""The tokenizer service without its service."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from citemesh.client.types import Chat, Encoded, TokenizerInfo
from citemesh.kit.settings import load
from services.tokenizer.engine import ChatTurn
from services.tokenizer.main import load_engines
from services.tokenizer.pool import PoolLimits, TokenizerPool
from services.tokenizer.registry import TokenizerRegistry
from services.tokenizer.settings import TokenizerSettings


class LocalTokenizer:
    """TokenizerPort over the service's registry and pool."""

    def __init__(self, registry: TokenizerRegistry, pool: TokenizerPool, timeout_s: float) -> None:
        self._registry = registry
        self._pool = pool
        self._timeout_s = timeout_s

    async def encode(self, texts: Sequence[str], tokenizer: str = "", add_special_tokens: bool = False) -> Encoded:
        """Token ids of each text; without special tokens, as the flow asks."""
        assert not add_special_tokens, "the flow never asks for them"
        engine = self._registry.find(tokenizer)
        found = await self._pool.encode(engine, texts, with_spans=False, timeout_s=self._timeout_s, priority=0)
        return Encoded(tuple(tuple(tokens.ids) for tokens in found), engine.facts.name, engine.facts.digest)

    async def decode(
        self, sequences: Sequence[Sequence[int]], tokenizer: str = "", skip_special_tokens: bool = True
    ) -> tuple[str, ...]:
        """Text of each sequence."""
        engine, size = self._registry.find(tokenizer), sum(map(len, sequences))
        return tuple(
            await self._pool.call(
                lambda: engine.decode(sequences, skip_special_tokens), size, timeout_s=self._timeout_s, priority=0
            )
        )

    async def render_chat(
        self, messages: Sequence[tuple[str, str]], tokenizer: str = "", add_generation_prompt: bool = True
    ) -> Chat:
        """The model's prompt for a conversation."""
        engine = self._registry.find(tokenizer)
        turns = [ChatTurn(role, content) for role, content in messages]
        size = sum(len(turn.content) for turn in turns)
        prompt = await self._pool.call(
            lambda: engine.render(turns, add_generation_prompt), size, timeout_s=self._timeout_s, priority=0
        )
        return Chat(prompt.text, tuple(prompt.ids), engine.facts.digest)

    async def list(self) -> tuple[TokenizerInfo, ...]:
        """The loaded tokenizers."""
        return tuple(
            TokenizerInfo(f.name, f.digest, f.vocabulary_size, f.max_tokens, f.has_chat_template)
            for f in (engine.facts for engine in self._registry.engines)
        )


@asynccontextmanager
async def local_tokenizer() -> AsyncIterator[LocalTokenizer]:
    """A tokenizer service as its settings say. Raises as its service does when it starts."""
    settings = load(TokenizerSettings)
    registry = TokenizerRegistry()
    registry.fill(await asyncio.to_thread(load_engines, settings))
    limits = PoolLimits(
        settings.threads, settings.max_waiting, settings.max_waiting_characters, settings.step_characters
    )
    pool = TokenizerPool(limits)
    await pool.start()
    try:
        yield LocalTokenizer(registry, pool, settings.timeout_s)
    finally:
        await pool.stop()
