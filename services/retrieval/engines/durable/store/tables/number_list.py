"""Numbers as one value of a statement: it stays the same for any count of them, and so is prepared once.

`FROM json_each(?) j CROSS JOIN table t ON t.id = j.value` reads their rows in the order of the list.
"""

from collections.abc import Sequence


def listed(numbers: Sequence[int]) -> str:
    """The numbers as a JSON array."""
    return f"[{','.join(map(str, numbers))}]"
