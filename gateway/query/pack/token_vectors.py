"""Token vectors on their way from the search to the reranker: they spare it from reading the passages again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from citemesh.client.types import Candidate, Passage, Source, Span
from citemesh.contract.bounds import MOST_VECTOR_BYTES
from citemesh.models.tokens.vector_layout import cut

Vectors = tuple[bytes, str]
_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class SourceVectors:
    """What the search gave with its passages: packed vectors and their digest, by collection and chunk."""

    by_chunk: dict[_Key, Vectors] = field(default_factory=dict)

    @classmethod
    def of(cls, passages: Iterable[Passage]) -> "SourceVectors":
        """Those of passages that have them."""
        made = {(p.collection, p.chunk_id): (p.token_vectors, p.token_vectors_digest) for p in passages}
        return cls({key: vectors for key, vectors in made.items() if vectors[0]})

    def candidate(self, name: str, source: Source, span: Span | None = None, text: str = "") -> Candidate:
        """A source, or a stretch of its text, to be judged.

        Args:
            text: the stretch's text where it isn't the source's own letter by letter.
        """
        span = span or Span(0, len(source.text))
        text = text or source.text[span.start : span.end]
        packed, digest = self.by_chunk.get((source.collection, source.chunk_id), (b"", ""))
        try:
            part = cut(packed, span.start, span.end, len(text)) if packed else b""
        except ValueError:
            return Candidate(name, text)  # a newer layout than this service knows: the reranker reads the text
        return Candidate(name, text, None, part, digest)


def bounded(candidates: Sequence[Candidate], most: int = MOST_VECTOR_BYTES) -> list[Candidate]:
    """The candidates, those without vectors whose vectors would be too many bytes together with those before."""
    kept = []
    for candidate in candidates:
        most -= len(candidate.token_vectors)
        kept.append(candidate if most >= 0 else replace(candidate, token_vectors=b"", token_vectors_digest=""))
    return kept
