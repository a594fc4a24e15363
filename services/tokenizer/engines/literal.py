"""A tokenizer for which control tokens in a text are text like any other."""

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Encoding, Tokenizer

from citemesh.models.digest import broken


def load(directory: Path) -> Tokenizer:
    """Read a prepared model's tokenizer as it is. Raises PreconditionFailed for one that can't be read."""
    file = directory / "tokenizer.json"
    try:
        return plain(Tokenizer.from_file(str(file)))
    except Exception as fault:  # the library raises Exception itself
        raise broken(file, str(fault)) from fault


def plain(tokenizer: Tokenizer) -> Tokenizer:
    """Take away what every call sets for itself."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def control_tokens(definition: Mapping[str, Any]) -> dict[str, int]:
    """Return a definition's control tokens and their ids."""
    return {token["content"]: token["id"] for token in definition.get("added_tokens") or () if token.get("special")}


class LiteralTokenizer:
    """Encodes control tokens as text, and decodes them as what they are.

    The library's own switch does for most models. Unigram vocabularies hold their control tokens as pieces too, and
    find them in a text without looking at it as a control token; there the pieces get names that nobody can guess.
    """

    def __init__(self, directory: Path, definition: Mapping[str, Any]) -> None:
        """Read a prepared model's tokenizer. Raises PreconditionFailed for one that can't be read."""
        self.control = control_tokens(definition)
        self._hidden: dict[str, str] = {}
        if definition["model"].get("type") == "Unigram":
            secret = secrets.token_hex(16)
            self._hidden = {name: f"\ufdd0{secret}{number}\ufdd0" for name, number in self.control.items()}
            self._tokenizer = _hiding(directory, definition, self._hidden)
        else:
            self._tokenizer = load(directory)
            self._tokenizer.encode_special_tokens = True

    @property
    def vocabulary(self) -> dict[str, int]:
        """Pieces and their ids."""
        return dict(self._tokenizer.get_vocab(with_added_tokens=True))

    def frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the tokens that the model wants before and after a text."""
        framed = self._tokenizer.encode_batch(["a"], add_special_tokens=True)[0]
        own = [index for index, special in enumerate(framed.special_tokens_mask) if not special]
        return (tuple(framed.ids[: own[0]]), tuple(framed.ids[own[-1] + 1 :])) if own else ((), ())

    def encode(self, texts: Sequence[str], with_spans: bool) -> list[Encoding]:
        """Encode texts without start and end tokens; the batch calls let other threads run meanwhile."""
        encode = self._tokenizer.encode_batch if with_spans else self._tokenizer.encode_batch_fast
        return list(encode(list(texts), add_special_tokens=False))

    def decode(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool) -> list[str]:
        """Return the text of each sequence."""
        if skip_special_tokens and self._hidden:
            control = set(self.control.values())
            sequences = [[token for token in ids if token not in control] for ids in sequences]
        texts = self._tokenizer.decode_batch([list(ids) for ids in sequences], skip_special_tokens=skip_special_tokens)
        return [self._named(text) for text in texts]

    def _named(self, text: str) -> str:
        for name, hidden in self._hidden.items():
            text = text.replace(hidden, name)
        return text


def _hiding(directory: Path, definition: Mapping[str, Any], hidden: Mapping[str, str]) -> Tokenizer:
    """Return a tokenizer without control tokens, whose pieces of their names are named anew; the ids stay."""
    model = dict(definition["model"])
    model["vocab"] = [[hidden.get(piece, piece), score] for piece, score in model["vocab"]]
    added = [token for token in definition.get("added_tokens") or () if not token.get("special")]
    try:
        return plain(Tokenizer.from_str(json.dumps({**definition, "added_tokens": added, "model": model})))
    except Exception as fault:  # the library raises Exception itself
        raise broken(directory / "tokenizer.json", str(fault)) from fault
