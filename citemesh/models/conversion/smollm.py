"""SmolLM2 from its 4-bit GGUF file to a transformers directory in bfloat16."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

from citemesh.models.progress import Progress

_MAX_TOKENS = 8192


def convert(gguf: Path, directory: Path, progress: Progress) -> None:
    """Dequantise `gguf` and write weights, tokenizer, chat template and generation config into `directory`.

    Needs torch, transformers, gguf and accelerate. Takes about 20 s and 1 GB of memory.
    """
    from citemesh.models.conversion.quiet import quiet_transformers

    with quiet_transformers():
        progress("dequantising weights", 0.1)
        with redirect_stderr(io.StringIO()):  # a bar that no setting turns off; a failure raises all the same
            model = _dequantised(gguf)
        progress("writing weights", 0.7)
        model.save_pretrained(directory)
        progress("writing tokenizer", 0.9)
        _save_tokenizer(gguf, directory)


def _dequantised(gguf: Path) -> Any:
    import torch
    from transformers import AutoModelForCausalLM, GgufConfig

    model = AutoModelForCausalLM.from_pretrained(
        str(gguf.parent),
        gguf_file=gguf.name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.bfloat16,
        local_files_only=True,
    )
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config  # the saved weights are plain; a loader must not look for blocks
    return model


def _save_tokenizer(gguf: Path, directory: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name, local_files_only=True)
    tokenizer.model_max_length = _MAX_TOKENS
    tokenizer.save_pretrained(directory)
    _drop(directory / "tokenizer_config.json", "is_local", "local_files_only")


def _drop(path: Path, *keys: str) -> None:
    """Removes `keys`, which describe how the file was loaded, from a JSON object file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    remaining = {key: value for key, value in content.items() if key not in keys}
    path.write_text(json.dumps(remaining, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
