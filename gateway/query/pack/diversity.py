"""Which passages stand side by side in a prompt.

A passage that says nearly what a better one says, or that is one too many of its document, gives way to others.
"""

from collections.abc import Hashable, Iterable, Sequence

from citemesh.text.scripts import is_chinese
from gateway.query.pack.packing import Scored

LOOKED_AT = 4
SHINGLE = 3
ALIKE = 0.8
WORSE = 0.5


def diverse(ranked: Sequence[Scored], most: int) -> tuple[Scored, ...]:
    """The same passages, those that would add little behind the others; only the first few times ``most`` are judged.

    At most half of ``most`` are of one document while another has a passage that fits at least half as well.
    """
    judged, rest = ranked[: LOOKED_AT * most], ranked[LOOKED_AT * most :]
    kept: list[Scored] = []
    late: list[Scored] = []
    shingles: list[set[Hashable]] = []
    for at, one in enumerate(judged):
        mine = _shingles(one.passage.text)
        if any(_alike(mine, other) for other in shingles) or _one_too_many(one, kept, judged[at + 1 :], most):
            late.append(one)
        else:
            kept.append(one)
            shingles.append(mine)
    return (*kept, *late, *rest)


def _one_too_many(one: Scored, kept: Sequence[Scored], rest: Iterable[Scored], most: int) -> bool:
    if sum(_same_document(one, other) for other in kept) < max(1, (most + 1) // 2):
        return False
    return any(not _same_document(one, other) and other.score >= WORSE * one.score for other in rest)


def _same_document(one: Scored, other: Scored) -> bool:
    mine, theirs = one.passage, other.passage
    return (mine.collection, mine.document_id) == (theirs.collection, theirs.document_id)


def _shingles(text: str) -> set[Hashable]:
    words: Sequence[str] = text if is_chinese(text) else text.lower().split()
    return {tuple(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1))}


def _alike(one: set[Hashable], other: set[Hashable]) -> bool:
    return len(one & other) >= ALIKE * min(len(one), len(other))
