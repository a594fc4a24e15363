"""References to directories: a transformers model that is there already, linked rather than copied.

The prepared directory holds symbolic links to the files a model consists of, beside our own manifest and projection,
so nothing is ever written into the directory named. When a linked file changes, the model is prepared again.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from citemesh.errors import NotFound, PreconditionFailed
from citemesh.models.conversion.weights import check_safetensors
from citemesh.models.describe import describe
from citemesh.models.manifest import FILE_NAME
from citemesh.models.prepared import LATE_PROJECTION
from citemesh.models.progress import Progress
from citemesh.models.sources.recipe import Made, Recipe, key_of

_LINKED = {".json", ".safetensors", ".txt", ".model", ".jinja"}
_POOLING = "1_Pooling/config.json"
_OWN_BYTES = 1_000_000  # manifest and projection; the rest is links


def directory_recipe(path: Path) -> Recipe:
    """Returns the recipe that links the model in `path`, an absolute path."""
    name = _model_name(path)
    place = hashlib.sha256(str(path).encode()).hexdigest()[:12]

    def make(directory: Path, progress: Progress) -> Made:
        progress(f"checking {path}", 0.0)
        return link_model(path, directory, name, source=str(path))

    return Recipe(key_of(name, place), _OWN_BYTES, make)


def _model_name(path: Path) -> str:
    return re.sub(r"[^\w.-]+", "-", path.name, flags=re.ASCII).strip("-.") or "model"


def link_model(path: Path, directory: Path, name: str, source: str) -> Made:
    """Checks the model in `path` and links its files into `directory`.

    Raises NotFound when `path` is no directory, PreconditionFailed when it is no model that can be used.
    """
    _check(path)
    files = [file for file in path.iterdir() if file.is_file() and file.suffix in _LINKED]
    for file in files:
        if file.name not in (FILE_NAME, LATE_PROJECTION):
            (directory / file.name).symlink_to(file.resolve())
    if (path / _POOLING).is_file():
        (directory / _POOLING).parent.mkdir()
        (directory / _POOLING).symlink_to((path / _POOLING).resolve())
    return Made(source, "", describe(path, name))


def _check(path: Path) -> None:
    if not path.is_dir():
        raise NotFound("model directory", str(path), "name an existing directory that holds config.json")
    for name, remedy in (
        ("config.json", "name the directory that holds config.json, as `save_pretrained` writes it"),
        (
            "tokenizer.json",
            "save the model's fast tokenizer there: `AutoTokenizer.from_pretrained(…).save_pretrained(…)`",
        ),
    ):
        if not (path / name).is_file():
            raise PreconditionFailed("MODEL_INCOMPLETE", f"{path} holds no {name}", remedy)
    weights = sorted(path.glob("*.safetensors"))
    if not weights:
        remedy = "save the model as safetensors; other formats can run code when they are read and are not taken"
        raise PreconditionFailed("MODEL_INCOMPLETE", f"{path} holds no *.safetensors", remedy)
    for file in weights:
        check_safetensors(file)
