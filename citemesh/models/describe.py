"""Reads a transformers directory's own files to say what the model is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from citemesh.errors import PreconditionFailed
from citemesh.models.prepared import Facts, Kind, Pooling

_KINDS = {
    "ForCausalLM": Kind.GENERATION,
    "ForConditionalGeneration": Kind.GENERATION,
    "ForSequenceClassification": Kind.CROSS_ENCODER,
}
_UNLIMITED = 10**9  # tokenizers without a limit say 1e30

# The cards of these families ask for prefixes that their directories do not state.
_FAMILY_PREFIXES = ((re.compile(r"(^|[-_/])e5-(small|base|large)(-v2)?([-_]|$)"), "query: ", "passage: "),)


def describe(path: Path, name: str) -> Facts:
    """Returns the facts of the model in `path`, its digest left empty.

    Raises PreconditionFailed when config.json is not readable or lacks what is needed.
    """
    config = _read_json(path / "config.json")
    query_prefix, passage_prefix = _prefixes(path, name)
    return Facts(
        name=name,
        kind=_kind(config),
        digest="",
        licence="",
        dimension=_dimension(config, path),
        max_tokens=_max_tokens(config, path),
        pooling=_pooling(path),
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
    )


def _read_json(path: Path) -> dict[str, Any]:
    """Reads a JSON object; an absent file is an empty one."""
    try:
        content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError as error:
        raise PreconditionFailed("MODEL_BROKEN", f"{path} is not JSON ({error})", "fetch the file again") from error
    if not isinstance(content, dict):
        raise PreconditionFailed("MODEL_BROKEN", f"{path} holds no JSON object", "fetch the file again")
    return content


def _kind(config: dict[str, Any]) -> Kind:
    for architecture in config.get("architectures") or []:
        for ending, kind in _KINDS.items():
            if str(architecture).endswith(ending):
                return kind
    return Kind.EMBEDDING


def _dimension(config: dict[str, Any], path: Path) -> int:
    text = config.get("text_config")
    dimension = config.get("hidden_size") or (text.get("hidden_size") if isinstance(text, dict) else None)
    if not isinstance(dimension, int) or dimension < 1:
        fault = f"{path / 'config.json'} states no hidden_size"
        raise PreconditionFailed("MODEL_UNSUPPORTED", fault, "use a model of a transformers architecture that has one")
    return dimension


def _max_tokens(config: dict[str, Any], path: Path) -> int:
    """Returns the smallest limit that any of the files states, or 512 when none does."""
    stated_limit = (
        _read_json(path / "sentence_bert_config.json").get("max_seq_length"),
        _read_json(path / "tokenizer_config.json").get("model_max_length"),
        _positions(config),
    )
    limits = [int(limit) for limit in stated_limit if isinstance(limit, int | float) and 0 < limit < _UNLIMITED]
    return min(limits, default=512)


def _positions(config: dict[str, Any]) -> Any:
    """RoBERTa's positions start after the padding id, so its position table is that much longer than its texts."""
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and "roberta" in str(config.get("model_type", "")):
        return positions - int(config.get("pad_token_id") or 0) - 1
    return positions


def _pooling(path: Path) -> Pooling:
    config = _read_json(path / "1_Pooling" / "config.json")
    if config.get("pooling_mode_cls_token"):
        return Pooling.CLS
    if config.get("pooling_mode_lasttoken"):
        return Pooling.LAST
    return Pooling.MEAN


def _prefixes(path: Path, name: str) -> tuple[str, str]:
    prompts = _read_json(path / "config_sentence_transformers.json").get("prompts")
    if isinstance(prompts, dict) and any(prompts.values()):
        passage = next((prompts[role] for role in ("document", "passage") if prompts.get(role)), "")
        return str(prompts.get("query") or ""), str(passage)
    for family, query, passage in _FAMILY_PREFIXES:
        if family.search(name.lower()):
            return query, passage
    return "", ""
