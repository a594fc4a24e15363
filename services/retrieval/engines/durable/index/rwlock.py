"""Many readers or one writer."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ReadWriteLock:
    """A waiting writer goes before new readers, so that steady searching never starves a change."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._readers = 0
        self._writing = False
        self._waiting_writers = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Holds it beside other readers."""
        with self._condition:
            self._condition.wait_for(lambda: not self._writing and self._waiting_writers == 0)
            self._readers += 1
        try:
            yield
        finally:
            with self._condition:
                self._readers -= 1
                self._condition.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds it alone."""
        with self._condition:
            self._waiting_writers += 1
            self._condition.wait_for(lambda: not self._writing and self._readers == 0)
            self._waiting_writers -= 1
            self._writing = True
        try:
            yield
        finally:
            with self._condition:
                self._writing = False
                self._condition.notify_all()
