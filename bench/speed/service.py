"""The retrieval service as it ships, with query vectors looked up: `python -m bench.speed.service QUERIES.npy`.

Everything else is as the environment's settings say.
"""

import sys
from pathlib import Path

from bench.speed.lookup import LookupEncoder
from services.retrieval import main as service


def main() -> int:
    """Serves until told to stop."""
    path = Path(sys.argv[1])
    service.encoder_of = lambda settings: LookupEncoder(path)
    return service.main()


if __name__ == "__main__":
    sys.exit(main())
