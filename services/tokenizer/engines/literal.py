"""A tokenizer that encodes control tokens in a text as text, and decodes them as what they are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Encoding, Tokenizer

from citemesh.models.tokens.digest import broken
from citemesh.models.tokens.literal import control_tokens, frame, hidden_names, literal


def load(directory: Path) -> Tokenizer:
    """Reads a prepared model's tokenizer as it is. Raises PreconditionFailed for one that can't be read."""
    file = directory / "tokenizer.json"
    try:
        return plain(Tokenizer.from_file(str(file)))
    except Exception as fault:  # the library raises Exception itself
        raise broken(file, str(fault)) from fault


def plain(tokenizer: Tokenizer) -> Tokenizer:
    """Turns off truncation and padding, which every call sets for itself."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class LiteralTokenizer:
    """Encodes control tokens as text (see citemesh.models.tokens.literal), and decodes them as what they are."""

    def __init__(self, directory: Path, definition: Mapping[str, Any]) -> None:
        """Reads a prepared model's tokenizer. Raises PreconditionFailed for one that can't be read."""
        self.control = control_tokens(definition)
        self._hidden = hidden_names(definition)
        self._tokenizer = literal(directory, definition, self._hidden)

    @property
    def vocabulary(self) -> dict[str, int]:
        """Pieces and their ids."""
        return dict(self._tokenizer.get_vocab(with_added_tokens=True))

    def frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Returns the tokens that the model wants before and after a text."""
        return frame(self._tokenizer)

    def encode(self, texts: Sequence[str], with_spans: bool) -> list[Encoding]:
        """Encodes texts without start and end tokens; the batch calls let other threads run meanwhile."""
        encode = self._tokenizer.encode_batch if with_spans else self._tokenizer.encode_batch_fast
        return list(encode(list(texts), add_special_tokens=False))

    def decode(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool) -> list[str]:
        """Returns the text of each sequence."""
        if skip_special_tokens and self._hidden:
            control = set(self.control.values())
            sequences = [[token for token in ids if token not in control] for ids in sequences]
        texts = self._tokenizer.decode_batch([list(ids) for ids in sequences], skip_special_tokens=skip_special_tokens)
        return [self._named(text) for text in texts]

    def _named(self, text: str) -> str:
        for name, hidden in self._hidden.items():
            text = text.replace(hidden, name)
        return text
