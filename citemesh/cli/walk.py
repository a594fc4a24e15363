"""Which files `citemesh ingest` takes, and what they are called."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from citemesh.errors import InvalidInput

SUFFIXES = frozenset({".md", ".markdown", ".txt", ".text", ".html", ".htm", ".pdf"})


@dataclass(frozen=True, slots=True)
class Found:
    """A file to ingest."""

    path: Path
    uri: str
    """Relative to where the user stands; for a file elsewhere, to the folder that was named."""


def walk(paths: Sequence[Path], here: Path | None = None) -> list[Found]:
    """The files of the paths, each once, in order. A file that is named is taken whatever it is called.

    In folders hidden files and folders are passed over, and so is everything that isn't Markdown, text, HTML or PDF.

    Raises:
        InvalidInput: a path isn't there, or nothing was found.
    """
    here = (here or Path()).resolve()
    found: dict[Path, Found] = {}
    for path in paths:
        if not path.exists():
            raise InvalidInput("PATH", f"{path} is not there", "name files or folders that exist")
        for file in _files(path):
            found.setdefault(file.resolve(), Found(file, _uri(file, path, here)))
    if not found:
        kinds = ", ".join(sorted(SUFFIXES))
        named = ", ".join(map(str, paths))
        raise InvalidInput("PATH", f"no document in {named}", f"folders are searched for {kinds}")
    return list(found.values())


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(folder, name)
            if not name.startswith(".") and file.suffix.lower() in SUFFIXES and file.is_file():
                yield file


def _uri(file: Path, named: Path, here: Path) -> str:
    whole = Path(os.path.abspath(file))
    if whole.is_relative_to(here):
        return whole.relative_to(here).as_posix()
    return whole.relative_to(Path(os.path.abspath(named)).parent).as_posix()
