"""The tokenizer service as this service uses it: passages in portions, behind whoever waits for an answer."""

from collections.abc import Iterator, Sequence

from citemesh.client.mesh import Mesh
from citemesh.kit import call_context
from services.retrieval.types.chunk import TokenIds

_TEXTS = 256
_BYTES = 2 * 1024 * 1024
_BACKGROUND = call_context.CallContext(priority=2)


class MeshTokenizer:
    """Encodes passages with the generation model's tokenizer, through the mesh."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh

    async def encode(self, texts: Sequence[str]) -> list[TokenIds]:
        """Ids of each text. Raises Unavailable, Overloaded, DeadlineExceeded."""
        ids_of_texts: list[TokenIds] = []
        with call_context.calling(_BACKGROUND):
            for portion in _portions(texts):
                answer = await self._mesh.tokenizer.encode(portion)
                ids_of_texts += (TokenIds(ids, answer.digest) for ids in answer.sequences)
        return ids_of_texts


def _portions(texts: Sequence[str]) -> Iterator[list[str]]:
    portion: list[str] = []
    size = 0
    for text in texts:
        length = len(text.encode())
        if portion and (len(portion) == _TEXTS or size + length > _BYTES):
            yield portion
            portion, size = [], 0
        portion.append(text)
        size += length
    if portion:
        yield portion
