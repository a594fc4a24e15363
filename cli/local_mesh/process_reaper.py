"""Ends a supervisor's process groups when the supervisor is gone, however it went.

The supervisor starts this file as a script with a pipe on its standard input and writes `+<group>` and `-<group>`
lines. When the pipe ends, be it by `kill -9` or a clean stop, every group still listed is killed. Unlike
PR_SET_PDEATHSIG (prctl(2)) this reaches grandchildren, such as an engine's worker, and works beyond Linux.
"""

import os
import signal
import sys


def main() -> None:
    """Reads until the pipe ends, then kills what is left."""
    # A terminal's Ctrl-C or hang-up is for the supervisor to answer.
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        change = groups.add if line[0] == "+" else groups.discard
        change(int(line[1:]))
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            continue


if __name__ == "__main__":
    main()
