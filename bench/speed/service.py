"""The retrieval service as it ships, with query vectors looked up: `python -m bench.speed.service QUERIES.npy`.

Everything else is as the environment's settings say.
"""

import sys
from pathlib import Path

from bench.speed.lookup import LookupEncoder
from citemesh.kit.server import run_service
from services.retrieval.main import build
from services.retrieval.settings import RetrievalSettings


def main() -> int:
    """Serves until told to stop."""
    path = Path(sys.argv[1])
    return run_service(RetrievalSettings, lambda settings: build(settings, lambda _: LookupEncoder(path)))


if __name__ == "__main__":
    sys.exit(main())
