"""Texts to embed, and their vectors."""

from citemesh.api.retrieval.v1 import retrieval_service_pb2 as pb
from citemesh.contract.bounds import LONGEST_QUERY, MOST_SEARCHES
from citemesh.errors import InvalidInput
from services.retrieval.types.chunk import Vector


def texts(request: pb.EmbedRequest) -> tuple[tuple[str, ...], bool]:
    """Texts to embed, and whether as questions. Raises InvalidInput, whose field names the text."""
    if not 0 < len(request.texts) <= MOST_SEARCHES:
        raise InvalidInput("texts", f"it has {len(request.texts)} entries", f"send 1 to {MOST_SEARCHES}")
    if request.role not in pb.EmbedRole.values():
        raise InvalidInput("role", f"{request.role} is no role", "use PASSAGE or QUERY")
    for number, text in enumerate(request.texts):
        if not text.strip() or len(text) > LONGEST_QUERY:
            fault = f"it has {len(text)} characters" if text.strip() else "it is empty"
            raise InvalidInput(f"texts[{number}]", fault, f"send 1 to {LONGEST_QUERY} characters")
    return tuple(request.texts), request.role == pb.EMBED_ROLE_QUERY


def answer(rows: Vector, model: str, tokens: int) -> pb.EmbedResponse:
    """The answer to a call for vectors, of shape (texts, dimension)."""
    return pb.EmbedResponse(
        vectors=[pb.Vector(values=row.tolist()) for row in rows], embedding_model=model, tokens=tokens
    )
