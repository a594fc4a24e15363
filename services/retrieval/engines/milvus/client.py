"""Milvus's client with a limit on every call: its own default is to try again for minutes."""

import os
from pathlib import Path
from typing import Any

from pymilvus import MilvusClient

CALL_S = 30.0


class BoundedClient(MilvusClient):  # type: ignore[misc]  # shipped without types
    """A client whose reads and writes end in time."""

    def query(self, *arguments: Any, **options: Any) -> Any:
        """Reads rows."""
        return super().query(*arguments, **{"timeout": CALL_S, **options})

    def search(self, *arguments: Any, **options: Any) -> Any:
        """Finds rows."""
        return super().search(*arguments, **{"timeout": CALL_S, **options})

    def insert(self, *arguments: Any, **options: Any) -> Any:
        """Writes rows."""
        return super().insert(*arguments, **{"timeout": CALL_S, **options})

    def upsert(self, *arguments: Any, **options: Any) -> Any:
        """Writes or replaces rows."""
        return super().upsert(*arguments, **{"timeout": CALL_S, **options})

    def delete(self, *arguments: Any, **options: Any) -> Any:
        """Removes rows."""
        return super().delete(*arguments, **{"timeout": CALL_S, **options})

    def has_collection(self, *arguments: Any, **options: Any) -> Any:
        """Whether a collection is there."""
        return super().has_collection(*arguments, **{"timeout": CALL_S, **options})


def connect(uri: str, token: str, timeout_s: float) -> MilvusClient:
    """A client of a server (http://host:port), or of Milvus Lite for the path of a file, whose directory is made."""
    if "://" not in uri:
        Path(uri).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        uri = os.path.abspath(uri)
    return BoundedClient(uri, token=token, timeout=timeout_s)
