"""Suffixes of file names: what kind of source each is, and which of them folders are searched for."""

from citemesh.contract.source_types import SourceType

SOURCE_TYPE_BY_SUFFIX: dict[str, SourceType] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".txt": "text",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".jsonlines": "jsonl",
}
"""Of what isn't source code. DOCX and EPUB are told by their bytes alone."""
_LANGUAGES = {
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
LANGUAGE_BY_SUFFIX = {f".{ending}": language for language, endings in _LANGUAGES.items() for ending in endings.split()}
"""Programming languages, and languages of configuration and markup that are read as code."""

_PROSE = ".md .markdown .mdx .txt .text .rst .adoc .org .tex .html .htm .xhtml .pdf .docx .epub"
_TABLES = ".csv .tsv .tab .jsonl .ndjson .jsonlines"
_CODE = (
    ".py .pyi .rs .go .c .h .cc .cpp .hpp .cu .java .kt .kts .scala .swift .js .mjs .cjs .jsx .ts .tsx .vue .svelte "
    ".rb .php .lua .pl .pm .r .jl .cs .fs .m .mm .hs .ml .ex .exs .erl .clj .dart .zig .nim .sol .f90 .sh .bash .ps1 "
    ".sql .proto .graphql .tf .nix .toml .yaml .yml .css .scss"
)
FOLDER_SUFFIXES = frozenset(f"{_PROSE} {_TABLES} {_CODE}".split())
"""Without JSON and XML, which more often hold data than text; a file that is named is taken all the same."""
