"""Prompts as token ids of real pages, none of which finds anything of itself in a prefix cache."""

import random
from collections.abc import Sequence
from pathlib import Path

from bench.common import corpus

Ids = Sequence[int]
FRESH_TOKENS = 16
"""First tokens of a prompt, new in each call: vLLM's prefix cache works by blocks of 16 tokens or more."""


class Prompts:
    """Prompts of one length, drawn by the seed.

    Args:
        directory: of the prepared model, with its tokenizer.json.
        length: tokens of a prompt, more than FRESH_TOKENS.
    """

    def __init__(self, directory: Path, length: int, seed: int) -> None:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        texts = [page.read_text(encoding="utf-8") for page in corpus.documents(12, seed)]
        encoded = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        self._ids: list[int] = [token for one in encoded for token in one.ids]
        self._length = length
        self._chance = random.Random(seed)

    def make(self) -> list[int]:
        """The next prompt."""
        start = self._chance.randrange(len(self._ids) - self._length)
        return self.refreshed(self._ids[start : start + self._length])

    def refreshed(self, prompt: Ids) -> list[int]:
        """The same prompt with another beginning."""
        return [*self._chance.sample(self._ids, FRESH_TOKENS), *prompt[FRESH_TOKENS:]]
