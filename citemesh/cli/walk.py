"""Which files `citemesh ingest` takes, and what they are called."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from citemesh.errors import InvalidInput

PROSE = (
    *(".md", ".markdown", ".mdx", ".txt", ".text", ".rst", ".adoc", ".org", ".tex"),
    *(".html", ".htm", ".xhtml", ".pdf", ".docx", ".epub"),
)
TABLES = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".jsonlines")
CODE = (
    *(
        ".py",
        ".pyi",
        ".rs",
        ".go",
        ".c",
        ".h",
        ".cc",
        ".cpp",
        ".hpp",
        ".cu",
        ".java",
        ".kt",
        ".kts",
        ".scala",
        ".swift",
    ),
    *(
        ".js",
        ".mjs",
        ".cjs",
        ".jsx",
        ".ts",
        ".tsx",
        ".vue",
        ".svelte",
        ".rb",
        ".php",
        ".lua",
        ".pl",
        ".pm",
        ".r",
        ".jl",
    ),
    *(".cs", ".fs", ".m", ".mm", ".hs", ".ml", ".ex", ".exs", ".erl", ".clj", ".dart", ".zig", ".nim", ".sol", ".f90"),
    *(".sh", ".bash", ".ps1", ".sql", ".proto", ".graphql", ".tf", ".nix", ".toml", ".yaml", ".yml", ".css", ".scss"),
)
"""Without JSON and XML, which more often hold data than text; a file that is named is taken all the same."""
SUFFIXES = frozenset((*PROSE, *TABLES, *CODE))
KINDS = "Markdown, text, HTML, PDF, DOCX, EPUB, CSV, TSV, JSON Lines and source code"
PASSED_OVER = frozenset({"node_modules", "__pycache__", "site-packages"})
"""Folders of what others wrote and a package manager put there."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file to ingest."""

    path: Path
    uri: str
    """Relative to where the user stands; for a file elsewhere, to the folder that was named."""


def walk(paths: Sequence[Path], here: Path | None = None) -> list[Found]:
    """The files of the paths, each once, in order. A file that is named is taken whatever it is called.

    In folders hidden files and folders are passed over, what editors leave beside a file that is open, and so is
    everything of a kind that isn't read.

    Raises:
        InvalidInput: a path isn't there, or nothing was found.
    """
    require(paths)
    found = files(paths, here)
    if not found:
        named = ", ".join(map(str, paths))
        raise InvalidInput("PATH", f"no document in {named}", f"folders are searched for {KINDS}")
    return found


def require(paths: Sequence[Path]) -> None:
    """Raises InvalidInput where a path isn't there."""
    for path in paths:
        if not path.exists():
            raise InvalidInput("PATH", f"{path} is not there", "name files or folders that exist")


def files(paths: Sequence[Path], here: Path | None = None) -> list[Found]:
    """The files of the paths as `walk` finds them; what isn't there has none."""
    here = (here or Path()).resolve()
    found: dict[Path, Found] = {}
    for path in paths:
        for file in _files(path):
            found.setdefault(file.resolve(), Found(file, _uri(file, path, here)))
    return list(found.values())


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        if path.exists():
            yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in PASSED_OVER)
        for name in sorted(names):
            file = Path(folder, name)
            if _wanted(name) and file.is_file():
                yield file


def _wanted(name: str) -> bool:
    """Whether a file in a folder is taken: not hidden, no lock file of an office program, of a kind that is read."""
    return not name.startswith((".", "~$")) and Path(name).suffix.lower() in SUFFIXES


def _uri(file: Path, named: Path, here: Path) -> str:
    whole = Path(os.path.abspath(file))
    if whole.is_relative_to(here):
        return whole.relative_to(here).as_posix()
    return whole.relative_to(Path(os.path.abspath(named)).parent).as_posix()
