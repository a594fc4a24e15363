"""The loaded tokenizers, by name."""

from collections.abc import Sequence

from citemesh.errors import AlreadyExists, NotFound, Unavailable
from services.tokenizer.engine import TokenizerEngine


class TokenizerRegistry:
    """Tokenizers in the order of the settings; the first is the default."""

    def __init__(self) -> None:
        self._engines: dict[str, TokenizerEngine] = {}

    @property
    def engines(self) -> tuple[TokenizerEngine, ...]:
        """All of them, the default first."""
        return tuple(self._engines.values())

    def fill(self, engines: Sequence[TokenizerEngine]) -> None:
        """Takes the loaded tokenizers. Raises AlreadyExists where two have one name."""
        for engine in engines:
            if engine.facts.name in self._engines:
                raise AlreadyExists("tokenizer", engine.facts.name, "list each model once")
            self._engines[engine.facts.name] = engine

    def find(self, name: str) -> TokenizerEngine:
        """Returns the tokenizer of a name, the default for an empty one. Raises NotFound, naming those that exist."""
        if not self._engines:
            raise Unavailable("the tokenizer")
        if not name:
            return self.engines[0]
        if name not in self._engines:
            raise NotFound("tokenizer", name, f"loaded are {', '.join(self._engines)}")
        return self._engines[name]
