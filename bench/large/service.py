"""The retrieval service as it ships, on an encoder that hashes words: `python -m bench.large.service DIMENSION`.

Everything else is as the environment's settings say.
"""

import sys

from citemesh.kit.server import run_service
from services.retrieval.embedding import fake
from services.retrieval.main import build
from services.retrieval.settings import RetrievalSettings


def main() -> int:
    """Serves until told to stop."""
    dimension = int(sys.argv[1])
    # The fake remembers words, up to 100,000 of them: here that would be taken for memory of the service.
    fake._hash = fake._hash.__wrapped__  # type: ignore[assignment]  # only in this process
    return run_service(RetrievalSettings, lambda settings: build(settings, lambda _: fake.FakeEncoder(dimension)))


if __name__ == "__main__":
    sys.exit(main())
