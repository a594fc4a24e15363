"""One process owns a store: a lock file with the holder's process id, freed by the kernel when the holder dies."""

import fcntl
import os
from pathlib import Path

from citemesh.errors import PreconditionFailed


class StoreLock:
    """Held from `acquire` to `release`, or to the death of the process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def acquire(self) -> None:
        """Takes the lock. Raises PreconditionFailed, which names the holder, where another process has it."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(file, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(file)
            raise PreconditionFailed(
                "STORE_IN_USE",
                f"the store {self._path.parent} is held by process {holder}",
                "stop that process, or set another state directory",
            ) from None
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        self._file = file

    def release(self) -> None:
        """Gives the lock back; the file stays, so that no two processes ever lock different files."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
