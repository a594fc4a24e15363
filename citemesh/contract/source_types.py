"""Kinds of source that a document can be."""

from collections.abc import Sequence
from typing import Literal, get_args

from citemesh.errors import InvalidInput

SourceType = Literal["markdown", "text", "html", "pdf", "docx", "epub", "csv", "jsonl", "code"]
SOURCE_TYPES: tuple[SourceType, ...] = get_args(SourceType)


def check_source_types(field: str, types: Sequence[str]) -> None:
    """Raises InvalidInput for a kind of source that there is not."""
    for kind in types:
        if kind not in SOURCE_TYPES:
            raise InvalidInput(field, f"{kind[:40]!r} is no kind of source", f"use {', '.join(SOURCE_TYPES)}")
