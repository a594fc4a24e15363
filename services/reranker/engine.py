"""What the service asks of an engine. Plain Python: no gRPC, no messages, no event loop."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from citemesh.models.tokens.token_vectors import StoredVectors

Alive = Callable[[], bool]
"""Says whether anybody still waits for the answer; engines ask between batches and stop with DeadlineExceeded."""

TextVectors = Sequence[StoredVectors | None]
"""Token vectors that came with the texts, one entry a text, in the engine's `vector_form`; empty: none came."""


@dataclass(frozen=True, slots=True)
class VectorForm:
    """Digest and width of the token vectors that an engine can use instead of reading a passage."""

    digest: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class CandidatePassage:
    """A passage to judge. The id is the caller's; retrieval_score is finite, higher is better, None: unknown."""

    id: str
    text: str
    retrieval_score: float | None = None
    vectors: StoredVectors | None = None


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A judged passage. score: 0 to 1, orders the answer; model_score: the engine's own, before blending."""

    id: str
    score: float
    model_score: float


@dataclass(frozen=True, slots=True)
class PassageSupport:
    """Where passage number `passage` (0-based in the request) supports a sentence best, and how much.

    start and end count code points in the passage's text (end exclusive, start < end); score is 0 to 1, calibrated
    as the probability that the stretch says what the sentence says.
    """

    passage: int
    start: int
    end: int
    score: float


class RerankerEngine(Protocol):
    """Judges passages. Methods block and are called from several threads at once after `load` returned."""

    @property
    def name(self) -> str:
        """The model's name, as answers carry it."""

    @property
    def vector_form(self) -> VectorForm | None:
        """The token vectors that it can use; None where it uses none. Known after `load`."""

    def load(self) -> None:
        """Makes the engine ready. Raises PreconditionFailed where the model can't be had."""

    def relevance(self, query: str, texts: Sequence[str], alive: Alive, vectors: TextVectors = ()) -> list[float]:
        """Returns one score a text, in their order, finite, higher is better; comparable within one call only.

        Raises DeadlineExceeded once nobody waits any more.
        """

    def support(
        self, sentences: Sequence[str], texts: Sequence[str], alive: Alive, vectors: TextVectors = ()
    ) -> list[list[PassageSupport]]:
        """Returns for each sentence the passages that could support it, best first, at most one entry a passage.

        An entry's stretch shares a content word, a number or a CJK character with its sentence; a passage without
        such a stretch has no entry. Raises DeadlineExceeded once nobody waits any more.
        """
