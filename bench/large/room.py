"""The retrieval room as it ships, on an encoder that hashes words: `python -m bench.large.room DIMENSION`.

Everything else is as the environment's settings say.
"""

import sys

from services.retrieval import main as room
from services.retrieval.embedding.fake import FakeEncoder


def main() -> int:
    """Serves until told to stop."""
    dimension = int(sys.argv[1])
    room.encoder_of = lambda settings: FakeEncoder(dimension)
    return room.main()


if __name__ == "__main__":
    sys.exit(main())
