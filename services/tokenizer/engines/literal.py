"""A tokenizer for which control tokens are text like any other."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

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


def literal(directory: Path, definition: Mapping[str, Any]) -> Tokenizer:
    """Read a tokenizer as one that takes control tokens for text.

    The library's own switch does for most. Some vocabularies hold their control tokens as pieces too, and find them
    in a text without looking at it as a control token; then the pieces are made unreachable.
    """
    tokenizer = load(directory)
    tokenizer.encode_special_tokens = True
    control = control_tokens(definition)
    found = tokenizer.encode_batch_fast(list(control), add_special_tokens=False)
    if not any(set(text.ids) & set(control.values()) for text in found):
        return tokenizer
    return plain(Tokenizer.from_str(json.dumps(unreachable(definition, control))))


def control_tokens(definition: Mapping[str, Any]) -> dict[str, int]:
    """Return a definition's control tokens and their ids."""
    return {token["content"]: token["id"] for token in definition.get("added_tokens") or () if token.get("special")}


def unreachable(definition: Mapping[str, Any], control: Mapping[str, int]) -> dict[str, Any]:
    """Return a definition without control tokens, whose pieces of their names have names that no text has.

    The ids stay. A vocabulary is a list of [piece, score], or an object of piece to id.
    """
    model = dict(definition["model"])
    kept = {model.get("unk_token")}
    hidden = {name: f"\uf8ff\ufdd0{number}\ufdd0" for name, number in control.items() if name not in kept}
    vocabulary = model["vocab"]
    if isinstance(vocabulary, list):
        model["vocab"] = [[hidden.get(piece, piece), score] for piece, score in vocabulary]
    else:
        model["vocab"] = {hidden.get(piece, piece): number for piece, number in vocabulary.items()}
    added = [token for token in definition.get("added_tokens") or () if not token.get("special")]
    return {**definition, "added_tokens": added, "model": model}
