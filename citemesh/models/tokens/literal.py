"""A tokenizer for which control tokens in a text are text like any other.

The library's own switch does for most models. Unigram vocabularies hold their control tokens as pieces too, and find
them in a text without looking at it as a control token; there the pieces get names that nobody can guess.
"""

import json
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from citemesh.models.tokens.digest import broken, definition

_MARK = re.compile(r"<[^<>\s]+>|\[[A-Z_]+\]")


def literal_tokenizer(directory: Path) -> Tokenizer:
    """A prepared model's tokenizer, without truncation and padding, that reads `</s>` in a text as four characters.

    It still puts the model's own control tokens around a text. Raises PreconditionFailed for one that can't be read.
    """
    defined = definition(directory)
    return literal(directory, defined, hidden_names(defined))


def control_tokens(defined: Mapping[str, Any]) -> dict[str, int]:
    """Returns a definition's control tokens and their ids."""
    return {token["content"]: token["id"] for token in defined.get("added_tokens") or () if token.get("special")}


def unknown_id(defined: Mapping[str, Any]) -> int | None:
    """Returns the id of the token that stands for what the vocabulary lacks; None where it lacks nothing."""
    model = defined["model"]
    if model.get("type") == "Unigram":
        return None if model.get("byte_fallback") else model.get("unk_id")
    name = model.get("unk_token")
    token_id = model["vocab"].get(name) if name else None
    return int(token_id) if token_id is not None else None


def hidden_names(defined: Mapping[str, Any]) -> dict[str, str]:
    """New names for the control tokens that the vocabulary would find in a text; none where the switch does.

    Some vocabularies hold control tokens that they don't declare. SentencePiece gives those no probability (a score of
    0), which it does to a few plain characters too, so it must look like one as well.
    """
    if defined["model"].get("type") != "Unigram":
        return {}
    vocabulary = defined["model"]["vocab"]
    undeclared = {piece for piece, score in vocabulary if score == 0 and _MARK.fullmatch(piece)}
    secret = secrets.token_hex(16)
    names = sorted(undeclared | set(control_tokens(defined)))
    return {name: f"\ufdd0{secret}{number}\ufdd0" for number, name in enumerate(names)}


def literal(directory: Path, defined: Mapping[str, Any], hidden: Mapping[str, str]) -> Tokenizer:
    """The tokenizer of a definition, its control tokens hidden; the ids stay. Raises PreconditionFailed."""
    model = dict(defined["model"])
    added = defined.get("added_tokens") or ()
    if hidden:
        model["vocab"] = [[hidden.get(piece, piece), score] for piece, score in model["vocab"]]
        added = [token for token in added if not token.get("special")]
    try:
        tokenizer = Tokenizer.from_str(json.dumps({**defined, "added_tokens": list(added), "model": model}))
    except Exception as fault:  # the library raises Exception itself
        raise broken(directory / "tokenizer.json", str(fault)) from fault
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def frame(tokenizer: Tokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the ids of the tokens that the model wants before and after a text."""
    framed = tokenizer.encode_batch(["a"], add_special_tokens=True)[0]
    own_places = [index for index, special in enumerate(framed.special_tokens_mask) if not special]
    return (tuple(framed.ids[: own_places[0]]), tuple(framed.ids[own_places[-1] + 1 :])) if own_places else ((), ())
