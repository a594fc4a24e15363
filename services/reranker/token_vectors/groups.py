"""Work in parts of bounded size, so that the largest request needs no more memory than a large one."""

from collections.abc import Iterator, Sequence


def groups(sizes: Sequence[int], limit: int) -> Iterator[slice]:
    """Yields neighbouring items whose sizes sum up to the limit at most; an item over the limit goes alone."""
    start, total = 0, 0
    for number, size in enumerate(sizes):
        if number > start and total + size > limit:
            yield slice(start, number)
            start, total = number, 0
        total += size
    if start < len(sizes):
        yield slice(start, len(sizes))
