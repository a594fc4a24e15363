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
    candidates, rest = ranked[: LOOKED_AT * most], ranked[LOOKED_AT * most :]
    passages: list[Scored] = []
    late: list[Scored] = []
    shingles: list[set[Hashable]] = []
    for at, scored in enumerate(candidates):
        own_shingles = _shingles(scored.passage.text)
        if any(_alike(own_shingles, other) for other in shingles) or _one_too_many(
            scored, passages, candidates[at + 1 :], most
        ):
            late.append(scored)
        else:
            passages.append(scored)
            shingles.append(own_shingles)
    return (*passages, *late, *rest)


def _one_too_many(scored: Scored, passages: Sequence[Scored], rest: Iterable[Scored], most: int) -> bool:
    if sum(_same_document(scored, other) for other in passages) < max(1, (most + 1) // 2):
        return False
    return any(not _same_document(scored, other) and other.score >= WORSE * scored.score for other in rest)


def _same_document(first: Scored, other: Scored) -> bool:
    first_passage, other_passage = first.passage, other.passage
    return (first_passage.collection, first_passage.document_id) == (
        other_passage.collection,
        other_passage.document_id,
    )


def _shingles(text: str) -> set[Hashable]:
    words: Sequence[str] = text if is_chinese(text) else text.lower().split()
    return {tuple(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1))}


def _alike(first: set[Hashable], other: set[Hashable]) -> bool:
    return len(first & other) >= ALIKE * min(len(first), len(other))
