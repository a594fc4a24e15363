"""Token vectors of passages that were judged before, within a limit of bytes."""

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass

from services.reranker.token_vectors.maxsim import Ints, Vectors

_OVERHEAD = 512
"""Bytes that an entry costs beside its arrays, roughly: key, objects, the map's slot."""


@dataclass(frozen=True, slots=True)
class EncodedText:
    """A text's tokens in order, without special ones; at least one.

    ids: [tokens]. places: last code point of each token in the text, [tokens]; the first would be the space before
    a word. vectors: unit length, [tokens, dimensions].
    """

    ids: Ints
    places: Ints
    vectors: Vectors

    @property
    def nbytes(self) -> int:
        """Bytes that it takes in memory."""
        return self.ids.nbytes + self.places.nbytes + self.vectors.nbytes + _OVERHEAD


def text_key(text: str) -> bytes:
    """Returns 128 bits of the text's BLAKE2b; takes lone surrogates too."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class VectorCache:
    """Entries by key; the least recently used go first. Safe to use from several threads.

    Args:
        capacity: most bytes to hold; 0 holds nothing.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[bytes, EncodedText] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: bytes) -> EncodedText | None:
        """Returns the entry, now the most recently used; None where there is none."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                self.misses += 1
                return None
            self.hits += 1
            self._entries.move_to_end(key)
            return entry

    def put(self, key: bytes, entry: EncodedText) -> None:
        """Stores the entry, unless it alone is over the limit."""
        if entry.nbytes > self._capacity:
            return
        with self._lock:
            old = self._entries.pop(key, None)
            self._bytes += entry.nbytes - (old.nbytes if old else 0)
            self._entries[key] = entry
            while self._bytes > self._capacity:
                self._bytes -= self._entries.popitem(last=False)[1].nbytes
