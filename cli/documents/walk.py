"""Which files `citemesh ingest` takes, and what they are called."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from citemesh.contract.suffixes import FOLDER_SUFFIXES
from citemesh.errors import InvalidInput

KINDS = "Markdown, text, HTML, PDF, DOCX, EPUB, CSV, TSV, JSON Lines and source code"
PASSED_OVER = frozenset({"node_modules", "__pycache__", "site-packages"})
"""Folders of what others wrote and a package manager put there."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to ingest."""

    path: Path
    uri: str
    """Relative to where the user stands; for a file elsewhere, to the folder that was named. Control
    characters of a name, and bytes that are not UTF-8, are spelt out."""
    closed: bool = False
    """It is a folder that can't be read, and stands for all that is in it."""


def walk(paths: Sequence[Path], base: Path | None = None) -> list[FoundFile]:
    """The files of the paths, each once, in order. A file that is named is taken whatever it is called.

    In folders hidden files and folders are passed over, what editors leave beside a file that is open, and so is
    everything of a kind that isn't read.

    Raises:
        InvalidInput: a path isn't there, or nothing was found.
    """
    require(paths)
    found_files = files(paths, base)
    if not found_files:
        names = ", ".join(map(str, paths))
        raise InvalidInput("PATH", f"no document in {names}", f"folders are searched for {KINDS}")
    return found_files


def require(paths: Sequence[Path]) -> None:
    """Raises InvalidInput where a path isn't there."""
    for path in paths:
        if not path.exists():
            raise InvalidInput("PATH", f"{path} is not there", "name files or folders that exist")


def files(paths: Sequence[Path], base: Path | None = None) -> list[FoundFile]:
    """The files of the paths as `walk` finds them, and folders that can't be read; what isn't there has none."""
    base = (base or Path()).resolve()
    by_uri: dict[str, FoundFile] = {}
    for path in paths:
        for real, file in _files(path, base):
            by_uri.setdefault(real, file)
    return list(by_uri.values())


def _files(path: Path, base: Path) -> Iterator[tuple[str, FoundFile]]:
    """Each file under its real path. What is the same for a whole folder is found out once: there may be very many."""
    if not path.is_dir():
        if path.exists():
            yield os.path.realpath(path), FoundFile(path, _uri(path, path, base))
        return
    closed: list[Path] = []
    for folder, folders, names in os.walk(path, onerror=lambda error: closed.extend(_closed(error))):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in PASSED_OVER)
        real, uri = os.path.realpath(folder), _uri(Path(folder), path, base)
        for name in sorted(filter(_wanted, names)):
            file = os.path.join(folder, name)
            if os.path.isfile(file):
                real_path = os.path.realpath(file) if os.path.islink(file) else os.path.join(real, name)
                yield real_path, FoundFile(Path(file), _spelt(name if uri == "." else f"{uri}/{name}"))
    for unread in closed:
        yield os.path.realpath(unread), FoundFile(unread, _uri(unread, path, base), closed=True)


def _closed(error: OSError) -> Iterator[Path]:
    """The folder that can't be read; none where it has only gone meanwhile."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        yield Path(error.filename)


def _wanted(name: str) -> bool:
    """Whether a file in a folder is taken: not hidden, no lock file of an office program, of a kind that is read."""
    return not name.startswith((".", "~$")) and os.path.splitext(name)[1].lower() in FOLDER_SUFFIXES


def _uri(file: Path, argument: Path, base: Path) -> str:
    absolute = Path(os.path.abspath(file))
    if absolute.is_relative_to(base):
        return _spelt(absolute.relative_to(base).as_posix())
    return _spelt(absolute.relative_to(Path(os.path.abspath(argument)).parent).as_posix())


def _spelt(name: str) -> str:
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", os.fsencode(name).decode("utf-8", "backslashreplace"))
