"""The retrieval room as it ships, but that it looks its query vectors up: `python -m bench.speed.room QUERIES.npy`.

Everything else is as the environment's settings say.
"""

import sys
from pathlib import Path

from bench.speed.lookup import LookupEncoder
from services.retrieval import main as room


def main() -> int:
    """Serves until told to stop."""
    path = Path(sys.argv[1])
    room.encoder_of = lambda settings: LookupEncoder(path)
    return room.main()


if __name__ == "__main__":
    sys.exit(main())
