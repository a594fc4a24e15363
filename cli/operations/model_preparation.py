"""Models made ready with their progress shown, before anything starts that needs them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from citemesh.errors import CiteMeshError
from citemesh.models import prepare, prepared
from cli.operations.checks import Check


def model_checks(references: Iterable[str], models_dir: Path) -> list[Check]:
    """Which models are ready. One that is not is a lack only for `doctor`: `up` makes it."""
    return [_check(reference, models_dir.expanduser()) for reference in references]


def missing(references: Iterable[str], models_dir: Path) -> list[str]:
    """The references whose model isn't ready. Raises InvalidInput or NotFound for one that can't be."""
    return [reference for reference in references if prepared(reference, models_dir.expanduser()) is None]


def prepare_all(references: Iterable[str], models_dir: Path, out: Console) -> None:
    """Makes what isn't ready.

    Raises:
        PreconditionFailed: a package is missing or the disk is full.
        NotFound, Unavailable, DataLoss: as `citemesh.models.prepare`.
    """
    lacking = missing(references, models_dir)
    if not lacking:
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(30), TextColumn("{task.percentage:3.0f} %"))
    with Progress(*columns, TimeElapsedColumn(), console=out, disable=not out.is_terminal) as bars:
        for reference in lacking:
            if not out.is_terminal:
                out.print(f"preparing {reference}")
            task = bars.add_task(f"preparing {reference}", total=1.0)

            def show(step: str, done: float, task: int = task, reference: str = reference) -> None:
                bars.update(task, completed=done, description=f"preparing {reference}: {step}")  # type: ignore[arg-type]  # TaskID is an int

            prepare(reference, models_dir.expanduser(), show)
            bars.update(task, completed=1.0, description=f"prepared {reference}")


def _check(reference: str, models_dir: Path) -> Check:
    name = f"model {reference}"
    try:
        model = prepared(reference, models_dir)
    except CiteMeshError as error:
        return Check(name, "lack", error.message, error.remedy)
    if model is None:
        return Check(name, "lack", "not prepared", "run `citemesh doctor --prepare`; `citemesh up` does it too")
    return Check(name, "ok", f"{model.name} in {model.directory}")
