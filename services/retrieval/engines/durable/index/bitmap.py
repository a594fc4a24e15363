"""A set of numbers as a bit each, which FAISS reads as it is."""

import faiss
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Bits = NDArray[np.uint8]
_LEAST_BYTES = 128
_SPARSE = 16


class Bitmap:
    """Numbers from 0 up. Not for several threads at once, but for reading."""

    def __init__(self, numbers: Numbers | None = None) -> None:
        self.bits: Bits = np.zeros(_LEAST_BYTES, np.uint8)
        self._count = 0
        if numbers is not None:
            self.add(numbers)

    def __len__(self) -> int:
        return self._count

    def add(self, numbers: Numbers) -> None:
        """Adds numbers."""
        self._grow(int(numbers.max(initial=-1)) // 8 + 1)
        new = np.unique(numbers[~self.holds(numbers)])
        np.bitwise_or.at(self.bits, new >> 3, _bit(new))
        self._count += len(new)

    def remove(self, numbers: Numbers) -> None:
        """Removes those that are in."""
        present = np.unique(numbers[self.holds(numbers)])
        np.bitwise_and.at(self.bits, present >> 3, ~_bit(present))
        self._count -= len(present)

    def holds(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Whether each is in."""
        at = numbers >> 3
        within = at < len(self.bits)
        present = np.zeros(len(numbers), bool)
        present[within] = (self.bits[at[within]] & _bit(numbers[within])) != 0
        return present

    def numbers(self) -> Numbers:
        """All of them, ascending."""
        return np.flatnonzero(np.unpackbits(self.bits, bitorder="little")).astype(np.int64)

    def intersection(self, numbers: Numbers) -> "Bitmap":
        """Those of the numbers that are in."""
        packed = _packed(numbers)[: len(self.bits)]
        common = Bitmap()
        common.bits = packed & self.bits[: len(packed)]
        common._count = int(np.bitwise_count(common.bits).sum())
        return common

    def selector(self) -> faiss.IDSelector:
        """Makes FAISS answer these alone. It points into the bits: keep the bitmap while it is used."""
        return faiss.IDSelectorBitmap(self.bits)  # type: ignore[call-arg, arg-type]  # its stub knows C++ alone

    def _grow(self, least: int) -> None:
        if least > len(self.bits):
            grown = np.zeros(max(least, 2 * len(self.bits)), np.uint8)
            grown[: len(self.bits)] = self.bits
            self.bits = grown


def _bit(numbers: Numbers) -> Bits:
    bits: Bits = np.left_shift(1, numbers & 7).astype(np.uint8)
    return bits


def _packed(numbers: Numbers) -> Bits:
    """A bit for each number up to the largest."""
    length = int(numbers.max(initial=-1)) + 1
    if len(numbers) * _SPARSE < length:
        bits = np.zeros((length + 7) // 8, np.uint8)
        np.bitwise_or.at(bits, numbers >> 3, _bit(numbers))
        return bits
    members = np.zeros(length, dtype=bool)
    members[numbers] = True
    return np.packbits(members, bitorder="little")
