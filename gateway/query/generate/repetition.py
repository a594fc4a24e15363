"""Notices a model that writes the same thing over and over."""

SHORTEST, LONGEST = 8, 120
TIMES = 3


class LoopWatch:
    """Watches a growing text for a stretch of 8 to 120 characters that comes three times in a row.

    Stretches of fewer than four different letters or digits (rulers, table borders, spaces) don't count.
    """

    def __init__(self) -> None:
        self._tail = ""

    def feed(self, text: str) -> bool:
        """Takes the next part; True once the text loops."""
        self._tail = (self._tail + text)[-LONGEST * TIMES :]
        return any(_ends_with_loop(self._tail, period) for period in range(SHORTEST, LONGEST + 1))


def _ends_with_loop(text: str, period: int) -> bool:
    unit = text[-period:]
    if len(text) < period * TIMES or text[-period * TIMES :] != unit * TIMES:
        return False
    return len({char for char in unit if char.isalnum()}) >= 4
