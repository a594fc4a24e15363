"""Which files a watch has taken in, kept between its runs: what was deleted meanwhile is known by it.

A file of this machine, not a mark on the documents: two folders may hold files of one name, and only what this very
watch took in may be deleted when it is gone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from citemesh.errors import PreconditionFailed
from citemesh.mesh.text import replace_file

_VERSION = 1


class Journal:
    """The journal of one watch: of the same folders into the same collection of the same mesh."""

    def __init__(self, state_dir: Path, paths: Sequence[Path], collection: str, target: str) -> None:
        watch = [str(Path(path).resolve()) for path in paths]
        name = hashlib.sha256(json.dumps([watch, str(Path().resolve()), collection, target]).encode()).hexdigest()
        self.file = state_dir / "watch" / f"{name[:16]}.json"
        self._watch = watch

    def read(self) -> tuple[str, ...]:
        """The uris of what was taken in; none where there is no journal, or none that can be read."""
        try:
            content = json.loads(self.file.read_text(encoding="utf-8"))
            if content["version"] != _VERSION:
                return ()
            return tuple(str(uri) for uri in content["files"])
        except (OSError, ValueError, KeyError, TypeError):
            return ()

    def write(self, uris: Iterable[str]) -> None:
        """Keeps the uris in place of those before. Raises PreconditionFailed where the file can't be written."""
        text = json.dumps({"version": _VERSION, "watch": self._watch, "files": sorted(uris)}, ensure_ascii=False)
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.file, text + "\n", 0o600)
        except OSError as error:
            fault = f"{self.file} can't be written: {error.strerror}"
            raise PreconditionFailed(
                "STATE_UNWRITABLE", fault, "give a state directory that can, by --state-dir"
            ) from None
