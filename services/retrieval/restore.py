"""Restores a store from a copy that Snapshot made: ``python -m services.retrieval.restore COPY --into DIRECTORY``.

Without --into it only proves the copy. With --json it prints one object: {"ok": true, "copy", "into", "sequence",
"documents", "chunks", "wordless", "collections": [{name, model, dimension, documents, chunks, unreadable}]}, or
{"ok": false, "error": {"reason", "message", "remedy"}}. Exit status: 0, or 1 with an error.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from citemesh.errors import CiteMeshError
from services.retrieval.engines.durable.store.backup.restore import restore, verify


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    options = _options(arguments)
    try:
        report = _restored(options.copy, options.into)
    except CiteMeshError as error:
        report = {"ok": False, "error": {"reason": error.reason, "message": error.message, "remedy": error.remedy}}
    print(json.dumps(report, ensure_ascii=False) if options.json else _described(report))
    return 0 if report["ok"] else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m services.retrieval.restore", description="Restores a copy.")
    parser.add_argument("copy", type=Path, help="directory that Snapshot made")
    parser.add_argument("--into", type=Path, metavar="DIRECTORY", help="empty store directory; without it, only proves")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(arguments)


def _restored(copy: Path, into: Path | None) -> dict[str, Any]:
    manifest, proof = restore(copy, into) if into else verify(copy)
    target = str(into) if into else ""
    return {"ok": True, "copy": str(copy), "into": target, "sequence": manifest.sequence, **asdict(proof)}


def _described(report: dict[str, Any]) -> str:
    if not report["ok"]:
        return f"{report['error']['message']}; {report['error']['remedy']}"
    collections = ", ".join(
        f"{collection['name']}: {collection['documents']} documents, {collection['chunks']} chunks"
        for collection in report["collections"]
    )
    outcome = f"restored into {report['into']}" if report["into"] else "proved, nothing was restored"
    change = f"last change {report['sequence']}; every document is found by its text"
    return f"{report['copy']}: {outcome}\n{collections}\n{change}"


if __name__ == "__main__":
    sys.exit(main())
