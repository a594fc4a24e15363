"""What a tokenizer is, as one hash: equal digests give equal ids, in every service that reads the same directory."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from citemesh.errors import PreconditionFailed

PER_CALL = ("truncation", "padding")
"""Parts of tokenizer.json that every call sets for itself, so they don't make another tokenizer."""


def read_json(path: Path) -> dict[str, Any]:
    """Reads a JSON object; one that isn't there is empty.

    Raises:
        PreconditionFailed: the file isn't a JSON object.
    """
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as fault:
        raise broken(path, str(fault)) from fault
    if not isinstance(value, dict):
        raise broken(path, "it is not a JSON object")
    return value


def broken(path: Path, fault: str) -> PreconditionFailed:
    """Returns the error for a model file that can't be read."""
    return PreconditionFailed(
        "MODEL_BROKEN", f"{path.name} in {path.parent} can't be read: {fault}", "prepare the model again"
    )


def chat_template(directory: Path) -> str | None:
    """Returns the chat template of a prepared model, from chat_template.jinja or tokenizer_config.json.

    A configuration with several named templates gives its ``default`` one. None where there is none.
    """
    file = directory / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8")
    template = read_json(directory / "tokenizer_config.json").get("chat_template")
    if isinstance(template, list):
        by_name = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, dict)}
        template = by_name.get("default")
    return template if isinstance(template, str) else None


def definition(directory: Path) -> dict[str, Any]:
    """Returns a prepared model's tokenizer.json.

    Raises:
        PreconditionFailed: the directory holds no readable tokenizer.json.
    """
    content = read_json(directory / "tokenizer.json")
    if not isinstance(content.get("model"), dict):
        raise broken(directory / "tokenizer.json", "it isn't there or defines no model")
    return content


def tokenizer_digest(directory: Path) -> str:
    """Returns the digest of a prepared model's tokenizer and chat template; see digest_of. Raises as definition."""
    return digest_of(definition(directory), chat_template(directory))


def digest_of(tokenizer: Mapping[str, Any], template: str | None) -> str:
    """Returns the SHA-256 of a tokenizer's definition and chat template, in 64 lowercase hex digits.

    The definition is taken as canonical JSON (sorted keys, no spaces) without what every call sets for itself, so that
    only what changes ids or prompts changes the digest.
    """
    lasting = {key: value for key, value in tokenizer.items() if key not in PER_CALL}
    canonical = json.dumps(lasting, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode() + b"\0" + (template or "").encode()).hexdigest()
