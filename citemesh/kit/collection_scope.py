"""The collections that a call may reach, and the headers that say so and which one it is addressed to."""

from __future__ import annotations

from dataclasses import dataclass

COLLECTIONS_HEADER = "x-citemesh-collections"
"""Collections that the caller's key may reach, set by the identity policy alone."""
COLLECTION_HEADER = "x-citemesh-collection"
"""The collection that a call to the retrieval service is about, by which the mesh finds the replica that holds it."""
SHARD_HEADER = "x-citemesh-shard"
"""The replica that a call is meant for: set by the sidecar that chose it, or by a caller who asks every replica."""


@dataclass(frozen=True, slots=True)
class CollectionScope:
    """Patterns of names: `*`, a name, or the beginning of names with a `*` behind it."""

    patterns: tuple[str, ...]

    @classmethod
    def parse(cls, header: str) -> CollectionScope:
        """Reads patterns with commas between; an empty header reaches nothing."""
        return cls(tuple(pattern for pattern in header.split(",") if pattern))

    @property
    def header(self) -> str:
        """The patterns with commas between."""
        return ",".join(self.patterns)

    @property
    def everything(self) -> bool:
        """Whether it leaves no collection out, whatever its name."""
        return "*" in self.patterns

    def allows(self, name: str) -> bool:
        """Says whether a collection is within it."""
        return any(
            name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern for pattern in self.patterns
        )


EVERYTHING = CollectionScope(("*",))
NOTHING = CollectionScope(())
