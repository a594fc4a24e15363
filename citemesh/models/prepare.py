"""Turns a reference into a prepared model: once a machine, safely, and from then on by a look at its manifest.

A model is made in a temporary directory beside its place and renamed into it, under a file lock, so a reader sees a
whole model or none, a killed or failed attempt leaves nothing that counts, and of two processes one works while the
other waits.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from citemesh.errors import PreconditionFailed, Unavailable
from citemesh.models import manifest as manifests
from citemesh.models.manifest import Manifest
from citemesh.models.prepared import Facts, Kind, PreparedModel
from citemesh.models.progress import Progress, scaled, silent
from citemesh.models.reference import Reference, Scheme, parse
from citemesh.models.sources.directory import directory_recipe
from citemesh.models.sources.hub import hub_recipe
from citemesh.models.sources.package import package_recipe
from citemesh.models.sources.recipe import Recipe

LOCK_LIMIT_S = 900.0
"""How long one process waits for another that is preparing the same model."""

_EXTRAS = {
    "torch": "retrieval",
    "transformers": "retrieval",
    "tokenizers": "tokenizer",
    "safetensors": "retrieval",
    "gguf": "generation-cpu",
    "accelerate": "generation-cpu",
    "huggingface_hub": "retrieval",
}


def prepare(
    reference: str | Reference, models_dir: Path, progress: Progress | None = None, *, verify: bool = False
) -> PreparedModel:
    """Returns the model behind `reference`, made below `models_dir` if it isn't there yet.

    Blocks: microseconds when the model is there, up to a minute when it has to be made. `verify` compares every byte
    with the manifest instead of sizes only; a damaged model is made again either way.

    Raises:
        InvalidInput: the text is no reference.
        NotFound: no such package, directory or hub model.
        PreconditionFailed: a package or library is not installed, the disk is full, or the source is no usable model.
        Unavailable: the hub can't be reached, or another process has been preparing the model for too long.
        DataLoss: the source is damaged.
    """
    parsed = parse(reference) if isinstance(reference, str) else reference
    recipe = _recipe(parsed)
    directory = models_dir / recipe.key
    ready = ready_model(directory, verify)
    if ready is not None:
        return ready
    with _locked(models_dir, recipe.key):
        return ready_model(directory, verify) or _made(parsed, recipe, directory, progress or silent)


def prepared(reference: str | Reference, models_dir: Path) -> PreparedModel | None:
    """Returns the model behind `reference` if it is prepared already, else None; makes nothing.

    Raises InvalidInput when the text is no reference and NotFound when the package is not catalogued.
    """
    parsed = parse(reference) if isinstance(reference, str) else reference
    return ready_model(models_dir / _recipe(parsed).key)


def ready_model(directory: Path, verify: bool = False) -> PreparedModel | None:
    """Returns the model prepared in `directory`, or None when there is none or its files are not as recorded."""
    manifest = manifests.read(directory)
    if manifest is None or manifests.fault_of(manifest, directory, verify):
        return None
    return _model(manifest.facts, directory)


def _model(facts: Facts, directory: Path) -> PreparedModel:
    shallow = {name: getattr(facts, name) for name in asdict(facts)}
    return PreparedModel(**shallow, directory=directory)


def _recipe(reference: Reference) -> Recipe:
    if reference.scheme is Scheme.PACKAGE:
        return package_recipe(reference.target)
    if reference.scheme is Scheme.DIRECTORY:
        return directory_recipe(Path(reference.target))
    return hub_recipe(reference.target, reference.revision)


@contextmanager
def _locked(models_dir: Path, key: str) -> Iterator[None]:
    lock = _acquired(models_dir, key)
    try:
        yield
    finally:
        lock.release()


def _acquired(models_dir: Path, key: str) -> BaseFileLock:
    lock = FileLock(models_dir / f".{key}.lock")
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=LOCK_LIMIT_S)
    except Timeout as error:
        raise Unavailable(f"the model {key}, which another process is preparing,", 30.0) from error
    except OSError as error:
        remedy = "make it a directory that can be written to, or set CITEMESH_MODELS_DIR to one"
        fault = f"{models_dir} can't be written to ({error.strerror or error})"
        raise PreconditionFailed("MODELS_DIR_UNWRITABLE", fault, remedy) from error
    return lock


def _made(reference: Reference, recipe: Recipe, directory: Path, progress: Progress) -> PreparedModel:
    _remove_leftovers(directory)
    _check_space(recipe, directory.parent)
    temporary = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", suffix=".partial", dir=directory.parent))
    try:
        facts = _fill(reference, recipe, temporary, progress)
        _publish(temporary, directory)
    except ImportError as error:
        raise _missing_library(error) from error
    except Exception as error:
        if _is_disk_full(error, directory.parent):
            raise _disk_full(recipe, directory.parent) from error
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    progress(f"{facts.name} is ready", 1.0)
    return _model(facts, directory)


def _fill(reference: Reference, recipe: Recipe, directory: Path, progress: Progress) -> Facts:
    """Makes the model in `directory`, then its projection, then its manifest."""
    result = recipe.make(directory, scaled(progress, 0.0, 0.7))
    if result.facts.kind is Kind.EMBEDDING:
        from citemesh.models.conversion.late import write_projection  # wants numpy, torch and transformers

        write_projection(directory, result.facts, scaled(progress, 0.7, 0.95))
    progress("recording checksums", 0.95)
    files = manifests.record_files(directory)
    weights = {name: record.sha256 for name, record in files.items() if name.endswith(".safetensors")}
    facts = replace(result.facts, digest=manifests.digest_of(weights))
    source_sha256 = result.source_sha256 or facts.digest
    manifests.write(Manifest(str(reference), result.source, source_sha256, facts, files), directory)
    return facts


def _publish(temporary: Path, directory: Path) -> None:
    """Flush the files and rename them into place; what was there before was found damaged and goes."""
    temporary.chmod(0o755)
    for path in temporary.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(0o644)
            _flush(path)
    if directory.exists():
        stale = directory.with_name(f".{directory.name}.stale.partial")
        directory.rename(stale)
        shutil.rmtree(stale)
    temporary.rename(directory)
    _flush(directory.parent)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_leftovers(directory: Path) -> None:
    """Removes what killed attempts at this model left; the lock is held, so nobody is at work in them."""
    for path in directory.parent.glob(f".{directory.name}.*.partial"):
        shutil.rmtree(path, ignore_errors=True)


def _check_space(recipe: Recipe, place: Path) -> None:
    if shutil.disk_usage(place).free < recipe.needed_bytes:
        raise _disk_full(recipe, place)


def _is_disk_full(error: Exception, place: Path) -> bool:
    """Says whether `error` comes from a full disk; libraries that write weights do not all raise OSError for it."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return "No space left on device" in str(error)


def _disk_full(recipe: Recipe, place: Path) -> PreconditionFailed:
    free = shutil.disk_usage(place).free
    fault = f"{place} has {free / 1e6:.0f} MB free, preparing {recipe.key} needs {recipe.needed_bytes / 1e6:.0f} MB"
    return PreconditionFailed("DISK_FULL", fault, "free some space, or set CITEMESH_MODELS_DIR to a larger disk")


def _missing_library(error: ImportError) -> PreconditionFailed:
    library = (error.name or str(error)).partition(".")[0]
    extra = _EXTRAS.get(library, "all-cpu")
    fault = f"preparing the model needs the library {library}: {error}"
    return PreconditionFailed("LIBRARY_MISSING", fault, f"run `pip install 'citemesh[{extra}]'`")
