"""Tokens as they may be counted where the model's own tokenizer isn't at hand: near enough for cutting texts."""

import re
from collections.abc import Sequence

from citemesh.text.scripts import INDEXED_BY_PAIRS

_TOKEN = re.compile(rf"[{INDEXED_BY_PAIRS}]|[^\W{INDEXED_BY_PAIRS}]{{1,4}}|[^\w\s]")


class RoughTokens:
    """Up to four letters, one character of a script without spaces, or one sign.

    Vocabularies of today's models need fewer tokens for most texts, so that a chunk that is counted here fits them.
    """

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [sum(1 for _ in _TOKEN.finditer(text)) for text in texts]

    def ends(self, text: str) -> list[int]:
        """Where each token ends."""
        return [match.end() for match in _TOKEN.finditer(text)]

    def unknown_rate(self, texts: Sequence[str]) -> list[float]:
        """0 for each: what the model lacks can't be told without its vocabulary."""
        return [0.0] * len(texts)
