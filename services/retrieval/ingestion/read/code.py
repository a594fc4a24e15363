"""Source code: text, with a block for each stretch at the left margin, so that a definition stays whole where it fits.

It knows no language's grammar. A block begins where an empty line is followed by one that isn't indented.
"""

import re
from pathlib import PurePosixPath

from citemesh.contract.suffixes import LANGUAGE_BY_SUFFIX
from services.retrieval.ingestion.read.parsed import Block, Parsed

_NAMES = {
    "makefile": "make", "gnumakefile": "make", "dockerfile": "dockerfile", "containerfile": "dockerfile",
    "cmakelists.txt": "cmake", "jenkinsfile": "groovy", "rakefile": "ruby", "gemfile": "ruby", "vagrantfile": "ruby",
    "podfile": "ruby", "build.bazel": "bazel", "workspace": "bazel", "justfile": "make", "procfile": "yaml",
    ".bashrc": "shell", ".profile": "shell", ".zshrc": "shell", ".gitignore": "ini", ".editorconfig": "ini",
    ".env": "ini", "requirements.txt": "ini", "go.sum": "go",
}  # fmt: skip
_INTERPRETERS = {"python": "python", "bash": "shell", "sh": "shell", "zsh": "shell", "dash": "shell", "ksh": "shell",
                 "node": "javascript", "deno": "typescript", "ruby": "ruby", "perl": "perl", "php": "php", "lua": "lua",
                 "awk": "awk", "gawk": "awk", "tclsh": "tcl", "make": "make", "rscript": "r", "fish": "shell",
                 "elixir": "elixir", "groovy": "groovy", "swift": "swift", "julia": "julia"}  # fmt: skip
_SHEBANG = re.compile(r"#!\s*(?:\S*/)?([^/\s]+)(?!\S)(?:[ \t]+(?:-\S+[ \t]+)*(\S+))?")
_LONGEST_SHEBANG = 200
_GAP = re.compile(r"\n[ \t]*\n\s*")
_CLOSING = ("}", ")", "]", "end", "else", "catch", "finally", "fi", "done", "esac")


def language_of(name: str, start: str = "") -> str:
    """The programming language by a file's name, else by its first line; empty where neither says."""
    path = PurePosixPath(name.split("?")[0].split("#")[0].lower())
    return _NAMES.get(path.name) or LANGUAGE_BY_SUFFIX.get(path.suffix) or _interpreter(start)


def parse(text: str, name: str = "") -> Parsed:
    """Parses source code. Its title is left to its file's name."""
    language = language_of(name, text[:_LONGEST_SHEBANG])
    return Parsed(
        text=text,
        blocks=tuple(_blocks(text)),
        metadata={"programming_language": language} if language else {},
    )


def _blocks(text: str) -> list[Block]:
    blocks: list[Block] = []
    start = 0
    for gap in _GAP.finditer(text):
        if text[gap.end() - 1] == "\n" and not text.startswith(_CLOSING, gap.end()):
            _add(blocks, text, start, gap.start())
            start = gap.end()
    _add(blocks, text, start, len(text))
    return blocks


def _add(blocks: list[Block], text: str, start: int, end: int) -> None:
    part = text[start:end].rstrip()
    if part.strip():
        first = start + len(part) - len(part.lstrip("\n"))
        blocks.append(Block(first, start + len(part), "code"))


def _interpreter(start: str) -> str:
    match = _SHEBANG.match(start)
    if match is None:
        return ""
    program = match[2] if match[1] == "env" and match[2] else match[1]
    program = program.rsplit("/", 1)[-1]
    return _INTERPRETERS.get(program) or _INTERPRETERS.get(program.rstrip("0123456789."), "")
