"""Token vectors of passages as retrieval stores them: from its own encoder, packed and unpacked."""

from collections.abc import Iterator, Sequence

from bench.common import show
from citemesh.models import PreparedModel
from citemesh.models.tokens.token_vectors import StoredVectors, unpack
from services.retrieval.embedding.encoder import ChunkTokens
from services.retrieval.embedding.torch_encoder import TorchEncoder

_BATCH = 4096
Stored = dict[str, StoredVectors]


class Storing:
    """Makes what an ingest would store of a text without a title."""

    def __init__(self, model: PreparedModel) -> None:
        self._encoder = TorchEncoder(model)
        self.digest = self._encoder.token_vectors_digest

    def __call__(self, texts: Sequence[str]) -> Stored:
        """Vectors by text; a text too long for the model has none, as in an ingest."""
        distinct = list(dict.fromkeys(texts))
        tokens = self._encoder.tokens(distinct, [len(text) for text in distinct])
        found: Stored = {}
        with show.progress("token vectors", len(distinct)) as step:
            for batch in _batches(tokens):
                _, packed = self._encoder.embed_tokens([tokens[number] for number in batch])
                for number, vectors in zip(batch, packed, strict=True):
                    if vectors:
                        found[distinct[number]] = unpack(vectors, len(distinct[number]))
                    step()
        return found


def _batches(tokens: Sequence[ChunkTokens]) -> Iterator[list[int]]:
    batch: list[int] = []
    for number in sorted(range(len(tokens)), key=lambda at: len(tokens[at])):
        if batch and len(tokens[number]) * (len(batch) + 1) > _BATCH:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
