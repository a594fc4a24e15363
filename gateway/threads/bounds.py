"""How much is kept."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThreadBounds:
    """ThreadBounds of what is kept.

    Attributes:
        turns: most turns of a thread; a full one takes no more.
        thread_bytes: most bytes of a thread, so that it can be read in one message.
        threads: most threads of a caller; a new one takes the place of the one that was used longest ago.
        tenant_bytes: most bytes of a tenant's turns; a caller's own oldest threads give way first.
        turn_bytes: most bytes of one turn.
    """

    turns: int = 200
    threads: int = 500
    tenant_bytes: int = 256 * 1024 * 1024
    turn_bytes: int = 1024 * 1024
    thread_bytes: int = 8 * 1024 * 1024
