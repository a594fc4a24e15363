"""Vectors of texts, of the model that searches use, for the APIs that make them; and the fields that these share."""

from collections.abc import Sequence
from typing import Any, Protocol

from citemesh.client.types import Embedded
from citemesh.contract.bounds import MOST_SEARCHES
from citemesh.errors import InvalidInput
from gateway.query.question import check_text
from gateway.rest.core.fields import Fields, texts_of
from gateway.rest.core.question.field_names import renamed

MOST_TEXTS = 2048
INPUT_SCHEMA = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
SUMMARY = "Makes vectors of texts; each is read up to the model's own limit."
_NAMES = {"texts": "input"}

FIELDS = Fields()
INPUT = FIELDS.anything("input", f"A text, or up to {MOST_TEXTS}.", INPUT_SCHEMA, True)
DIMENSIONS = FIELDS.whole("dimensions", "Refused where it is not the model's own.")
ROLE = FIELDS.text(
    "input_type",
    "passage (as documents are, the default) or query (as questions are); not OpenAI's.",
    ("passage", "query"),
)


class Embedder(Protocol):
    """Makes vectors: `citemesh.client.retrieval.RetrievalClient`."""

    async def embed(self, texts: Sequence[str], as_queries: bool = False) -> Embedded:
        """Vectors of texts."""
        ...


async def embedded(embedder: Embedder, texts: Sequence[str], model: str, role: str, dimensions: int) -> Embedded:
    """Vectors of the texts, in portions. Raises InvalidInput for another model or dimension than the loaded one's."""
    try:
        parts = [
            await embedder.embed(texts[start : start + MOST_SEARCHES], role == "query")
            for start in range(0, len(texts), MOST_SEARCHES)
        ]
    except InvalidInput as error:
        raise renamed(error, _NAMES) from None
    vectors = tuple(vector for part in parts for vector in part.vectors)
    answer = Embedded(vectors, parts[0].model, sum(part.tokens for part in parts))
    _check(answer, model, dimensions)
    return answer


def inputs(value: Any) -> tuple[str, ...]:
    """The texts to embed. Raises InvalidInput, also for token ids: they are of no model here."""
    texts = (value,) if isinstance(value, str) else texts_of("input", value)
    if not 1 <= len(texts) <= MOST_TEXTS:
        raise InvalidInput("input", f"has {len(texts)} texts", f"send 1 to {MOST_TEXTS}")
    for at, text in enumerate(texts):
        check_text("input" if isinstance(value, str) else f"input[{at}]", text, "send a text")
    return texts


def _check(answer: Embedded, model: str, dimensions: int) -> None:
    """Raises InvalidInput where the vectors are not those that were asked for."""
    if model.removesuffix(":latest") not in ("", "citemesh", answer.model):
        raise InvalidInput("model", f"{model[:80]!r} is not loaded", f"use {answer.model}")
    dimension = len(answer.vectors[0])
    if dimensions not in (0, dimension):
        raise InvalidInput("dimensions", f"is {dimensions}", f"leave it out: the model makes {dimension}")
