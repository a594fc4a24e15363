"""Makes one order of what several searches found."""

from collections.abc import Sequence

from gateway.query.pack.packing import Scored
from gateway.query.plan.planner import Finding

LEAD = 2
"""Passages of the first search before those of the next ones begin to alternate with it."""


def merged(findings: Sequence[Finding]) -> tuple[Scored, ...]:
    """Passages of all searches, best first, each once.

    Scores of different queries don't compare, so ranks alternate: the question's own search leads.
    """
    if len(findings) < 2:
        return findings[0].ranked if findings else ()
    first, later = list(findings[0].ranked), [list(finding.ranked) for finding in findings[1:]]
    order = first[:LEAD]
    queues = [*later, first[LEAD:]]
    while any(queues):
        order += [queue.pop(0) for queue in queues if queue]
    unique: dict[tuple[str, str], Scored] = {}
    for one in order:
        unique.setdefault((one.passage.collection, one.passage.chunk_id), one)
    return tuple(unique.values())
