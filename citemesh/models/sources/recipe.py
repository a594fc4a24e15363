"""A recipe: how one reference becomes a prepared directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from citemesh.models.prepared import Facts
from citemesh.models.progress import Progress

REVISION = 1
"""Raised whenever a recipe's outcome changes, so that directories made by an older one are left to older programs."""


@dataclass(frozen=True)
class Made:
    """What making brought to light.

    Attributes:
        source: the distribution and version, directory or hub revision that the weights came from.
        source_sha256: SHA-256 of the source's weights, formed as Facts.digest is; empty when they are linked and so
            have the digest of the prepared weights themselves.
        facts: what the model is; the digest is filled in by whoever calls, from the finished files.
    """

    source: str
    source_sha256: str
    facts: Facts


@dataclass(frozen=True)
class Recipe:
    """One way to a prepared directory.

    Attributes:
        key: the directory's name below the models directory; equal for equal outcomes.
        needed_bytes: free bytes that making needs.
        make: fills an empty directory with everything but the late projection and the manifest. Raises NotFound,
            PreconditionFailed, Unavailable or DataLoss; OSError and ImportError are turned into those by `prepare`.
    """

    key: str
    needed_bytes: int
    make: Callable[[Path, Progress], Made]


def key_of(*parts: str) -> str:
    """Returns a directory name from `parts` and the recipe's revision."""
    return "-".join((*parts, f"r{REVISION}"))
