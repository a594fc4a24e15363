"""Documents and questions to measure with: the evaluation data where present, else the project's own pages."""

import os
import random
import re
from pathlib import Path

from citemesh.client.types import Upload

ROOT = Path(__file__).resolve().parents[2]
HEADING = re.compile(r"^#{2,3} +(\S.{6,70}?)\s*#*$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
FORMS = ("How does {heading} work in {page}?", "What does {page} say about {heading}?", "When do I need {heading}?")


def documents(most: int, seed: int) -> list[Path]:
    """Markdown pages in English, drawn by the seed."""
    data = Path(os.environ.get("CITEMESH_EVAL_DATA") or ROOT.parent / "shared" / "data")
    folder = data / "apisix-docs" / "docs" / "en" / "latest"
    pages = sorted(folder.rglob("*.md")) or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return sorted(random.Random(seed).sample(pages, min(most, len(pages))))


def source(pages: list[Path]) -> str:
    """Where the pages are from, for the report."""
    return "the project's own pages" if pages[0].is_relative_to(ROOT) else "the evaluation data's apisix-docs"


def upload(path: Path) -> Upload:
    """A page as an upload."""
    return Upload(str(path), path.read_bytes(), uri=path.name, media_type="text/markdown")


def questions(pages: list[Path], most: int, seed: int) -> list[str]:
    """Questions about sections of the pages, each about another one, drawn by the seed."""
    chance = random.Random(seed)
    found = [(path.stem.replace("-", " "), heading) for path in pages for heading in headings(path)]
    drawn = chance.sample(found, min(most, len(found)))
    return [chance.choice(FORMS).format(page=page, heading=heading) for page, heading in drawn]


def headings(path: Path) -> list[str]:
    """Headings of a page's sections, without those in code."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    return list(dict.fromkeys(match[1].strip("`* ") for match in HEADING.finditer(text)))
