"""Near-duplicate passages: signatures that tell how much of two texts is the same words in the same order.

A signature is a MinHash (Broder 1997, "On the resemblance and containment of documents") over runs of three words,
with one byte kept of each minimum (Li and König 2010, "b-Bit Minwise Hashing"). Words are those of the lexical index,
so that scripts without spaces have runs of four characters. Two texts whose numbers or identifiers differ are never
near: rows of one table, the notes of two releases and the manuals of two plugins share nearly all their words and say
different things. Of short texts, where one word is much of what they say, only equal ones are near.
"""

import hashlib
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from citemesh.text.index_words import index_words
from citemesh.text.scripts import INDEXED_BY_PAIRS
from services.retrieval.search import lexical

VERSION = f"1.{lexical.VERSION}"
"""Changes whenever the same text would get another signature; those of different versions mustn't be compared."""

THRESHOLD = 0.8
"""Similarity from which two texts are near; measured, see docs/quality.md."""

MOST_DUPLICATES = 16
"""Most duplicates of a group that are answered."""

_RUN = 3
_HASHES = 256
_SHORT = 24
"""Words below which only equal texts are near."""
_DIGEST = 8
_HEAD = 2 * _DIGEST
_LETTER = f"[^\\W{INDEXED_BY_PAIRS}]"
_IDENTIFIER = re.compile(
    rf"(?:(?<!\w)-)?{_LETTER}*\d(?:(?:{_LETTER}|[.,:/_-])*{_LETTER})?%?"  # 5, -5, 1.4.2, 2024-05-01, A17, utf_8
    rf"|{_LETTER}+(?:[_-]{_LETTER}+)+"  # authz-casbin, max_tokens
    "|[〇零一二两三四五六七八九十百千万亿]+"
)
_FACTORS, _SHIFTS = np.random.default_rng(20250).integers(1, 1 << 63, (2, _HASHES, 1), np.uint64) | np.uint64(1)
_MIX = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """The place of a text in an order, and those after it that are near to it, each with its similarity."""

    first: int
    duplicates: tuple[tuple[int, float], ...] = ()


def signature(text: str) -> bytes:
    """Signature of a text: 16 bytes of a short one, else 272. Takes about 0.4 ms for 200 words."""
    words = list(index_words(text))
    plain = unicodedata.normalize("NFKC", text)
    head = _digest(words or plain.split()) + _digest(_IDENTIFIER.findall(plain))
    return head if len(words) < _SHORT else head + _sketch(words)


def similarity(first: bytes, second: bytes) -> float:
    """Estimated share of runs of words that two texts have in common, 0 to 1; 0 where numbers or names differ.

    The standard error is at most 0.03. Texts of equal words have exactly 1.
    """
    if first == second:
        return 1.0
    if _kind(first) != _kind(second) or len(first) == _HEAD:
        return 0.0
    return float(_estimates(_bytes(first)[None], _bytes(second))[0])


def fold(signatures: Sequence[bytes], most: int, threshold: float = THRESHOLD) -> list[DuplicateGroup]:
    """Gathers texts, given best first, under the best one that each is near to; at most `most` groups.

    A text is compared with the first of each group only, so that all of a group are near to what stands for it. The
    cost is bounded by texts times `most`: 0.2 s for 1000 texts of which none are near. Texts that would open a group
    too many are left out.
    """
    groups: list[tuple[int, list[tuple[int, float]]]] = []
    kinds = list(map(_kind, signatures))
    shared = {kind: _Firsts() for kind, count in Counter(kinds).items() if count > 1}
    for place, (signed, kind) in enumerate(zip(signatures, kinds, strict=True)):
        firsts = shared.get(kind)
        group, value = firsts.nearest(signed) if firsts is not None else (0, 0.0)
        if value >= threshold and value > 0:
            groups[group][1].append((place, value))
        elif len(groups) < most:
            if firsts is not None:
                firsts.add(signed, len(groups))
            groups.append((place, []))
    return [DuplicateGroup(first, tuple(duplicates)) for first, duplicates in groups]


class _Firsts:
    """The first texts of groups, of one kind."""

    def __init__(self) -> None:
        self._equal: dict[bytes, int] = {}
        self._groups: list[int] = []
        self._sketches = np.empty((4, _HASHES), np.uint8)

    def add(self, signed: bytes, group: int) -> None:
        self._equal[signed] = group
        if len(signed) == _HEAD:
            return
        if len(self._groups) == len(self._sketches):
            self._sketches = np.concatenate([self._sketches, np.empty_like(self._sketches)])
        self._sketches[len(self._groups)] = _bytes(signed)
        self._groups.append(group)

    def nearest(self, signed: bytes) -> tuple[int, float]:
        """The group whose first is most similar, and how much; 0 where there is none."""
        if (equal := self._equal.get(signed)) is not None:
            return equal, 1.0
        if not self._groups:
            return 0, 0.0
        values = _estimates(self._sketches[: len(self._groups)], _bytes(signed))
        best = int(values.argmax())
        return self._groups[best], float(values[best])


def _kind(signed: bytes) -> bytes:
    """Only texts of one kind can be near: those that name the same numbers, and are both short or both not."""
    return signed[_DIGEST:_HEAD] + bytes([len(signed) > _HEAD])


def _digest(parts: Sequence[str]) -> bytes:
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


def _sketch(words: Sequence[str]) -> bytes:
    """The last byte of the least hash of all runs, by 256 hash functions."""
    codes = np.fromiter((zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in words), np.uint64, len(words))
    runs = np.unique(_stirred(sum(codes[at : len(codes) - _RUN + 1 + at] * _MIX[at] for at in range(_RUN))))
    least = np.full(_HASHES, np.iinfo(np.uint64).max, np.uint64)
    for start in range(0, len(runs), 1024):  # a text of any length in 2 MB
        np.minimum(least, (_FACTORS * runs[start : start + 1024] + _SHIFTS).min(axis=1), out=least)
    return _stirred(least).astype(np.uint8).tobytes()


def _stirred(values: Hashes) -> Hashes:
    """The same with every bit depending on all others (the finish of MurmurHash3)."""
    values = (values ^ (values >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    values = (values ^ (values >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return np.asarray(values ^ (values >> np.uint64(33)), np.uint64)


def _bytes(signed: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(signed, np.uint8, offset=_HEAD)


def _estimates(sketches: NDArray[np.uint8], sketch: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Share of runs in common, by equal bytes, of which one in 256 is equal by chance."""
    by_chance = 1 / 256
    equal = (sketches == sketch).mean(axis=1)
    return np.asarray(np.maximum(0.0, (equal - by_chance) / (1 - by_chance)), np.float64)
