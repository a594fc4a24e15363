"""Checks that the links of the documents lead somewhere: files, and headings in them.

    python tools/check_links.py     # prints file:line: link: what is wrong; exit status 1 where there is anything

Links to the web are not followed. docs/ is also held by the site's strict build.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

PAGES = ("*.md", "docs/**/*.md", "policies/*.md", "bench/results/*.md", "examples/**/*.md")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)", re.DOTALL)
FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)


def main() -> int:
    """Prints the faults; returns the exit status."""
    pages = sorted({path for pattern in PAGES for path in Path().glob(pattern) if "node_modules" not in path.parts})
    found = [fault for page in pages for fault in faults(page)]
    print("\n".join(found) or f"{len(pages)} documents: all links lead somewhere")
    return 1 if found else 0


def faults(page: Path) -> Iterator[str]:
    """What is wrong with a document's links."""
    text = FENCE.sub(lambda match: "\n" * match.group().count("\n"), page.read_text(encoding="utf-8"))
    for match in LINK.finditer(text):
        link = match.group(1)
        if re.match(r"[a-z]+:", link):
            continue
        number = text.count("\n", 0, match.start()) + 1
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists():
            yield f"{page}:{number}: {link}: there is no such file"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{page}:{number}: {link}: the file has no such heading"


def anchors(page: Path) -> set[str]:
    """What headings of a document are called in links."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {_slug(heading) for heading in re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)}


def _slug(heading: str) -> str:
    plain = re.sub(r"[`*_]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", plain).strip())


if __name__ == "__main__":
    sys.exit(main())
