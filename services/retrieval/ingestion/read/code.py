"""Source code: text, with a block for each stretch at the left margin, so that a definition stays whole where it fits.

It knows no language's grammar. A block begins where an empty line is followed by one that isn't indented.
"""

import re
from pathlib import PurePosixPath

from services.retrieval.ingestion.read.parsed import Block, Parsed

LANGUAGES = {
    "ada": "adb ads", "asciidoc": "adoc asciidoc", "assembly": "asm s", "awk": "awk", "batch": "bat cmd",
    "bazel": "bzl bazel", "bibtex": "bib", "c": "c h", "c#": "cs csx", "c++": "cc cpp cxx c++ hh hpp hxx inl ipp tpp",
    "clojure": "clj cljc cljs edn", "cmake": "cmake", "cobol": "cbl cob", "coffeescript": "coffee", "crystal": "cr",
    "css": "css less sass scss styl", "cuda": "cu cuh", "cue": "cue", "cython": "pxd pxi pyx", "d": "d di",
    "dart": "dart", "diff": "diff patch", "dockerfile": "dockerfile", "elixir": "ex exs", "elm": "elm",
    "erlang": "erl hrl", "f#": "fs fsi fsx", "fortran": "f f03 f08 f77 f90 f95", "gdscript": "gd",
    "glsl": "frag geom glsl vert", "go": "go mod", "gradle": "gradle", "graphql": "gql graphql", "groovy": "groovy",
    "haskell": "hs lhs", "haxe": "hx", "hcl": "hcl tf tfvars", "hlsl": "hlsl", "ini": "cfg conf ini properties",
    "java": "java", "javascript": "cjs es6 js jsx mjs", "json": "json json5 jsonc geojson", "jinja": "j2 jinja jinja2",
    "julia": "jl", "kotlin": "kt kts", "latex": "cls sty tex", "lisp": "cl el lisp lsp", "lua": "lua luau",
    "make": "mak mk", "matlab": "m", "mermaid": "mmd", "nim": "nim nims", "nix": "nix", "objective-c": "mm",
    "ocaml": "ml mli", "org": "org", "pascal": "dpr pas pp", "perl": "pl pm t", "php": "php phtml", "powershell":
    "ps1 psd1 psm1", "prolog": "pro", "protobuf": "proto", "puppet": "pp", "python": "py pyi pyw", "r": "r rmd",
    "racket": "rkt", "reason": "re rei", "restructuredtext": "rst", "ruby": "erb gemspec rake rb", "rust": "rs",
    "scala": "sbt sc scala", "scheme": "scm ss", "shell": "bash fish ksh sh zsh", "solidity": "sol", "sql":
    "ddl dml sql", "starlark": "star", "svelte": "svelte", "swift": "swift", "systemverilog": "sv svh", "tcl": "tcl",
    "thrift": "thrift", "toml": "toml", "typescript": "cts mts ts tsx", "v": "v", "vala": "vala vapi", "vhdl":
    "vhd vhdl", "vim": "vim", "visual basic": "bas vb vbs", "vue": "vue", "wgsl": "wgsl", "xml":
    "plist rng svg wsdl xml xsd xsl xslt", "yaml": "yaml yml", "zig": "zig",
}  # fmt: skip
EXTENSIONS = {f".{ending}": language for language, endings in LANGUAGES.items() for ending in endings.split()}
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
    return _NAMES.get(path.name) or EXTENSIONS.get(path.suffix) or _interpreter(start)


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
    found = _SHEBANG.match(start)
    if found is None:
        return ""
    program = found[2] if found[1] == "env" and found[2] else found[1]
    program = program.rsplit("/", 1)[-1]
    return _INTERPRETERS.get(program) or _INTERPRETERS.get(program.rstrip("0123456789."), "")
