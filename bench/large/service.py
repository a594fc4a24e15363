"""The retrieval service as it ships, on an encoder that hashes words: `python -m bench.large.service DIMENSION`.

Everything else is as the environment's settings say.
"""

import sys

from services.retrieval import main as service
from services.retrieval.embedding import fake


def main() -> int:
    """Serves until told to stop."""
    dimension = int(sys.argv[1])
    # The fake remembers words, up to 100,000 of them: here that would be taken for memory of the service.
    fake._hash = fake._hash.__wrapped__  # type: ignore[assignment]  # only in this process
    service.encoder_of = lambda settings: fake.FakeEncoder(dimension)
    return service.main()


if __name__ == "__main__":
    sys.exit(main())
