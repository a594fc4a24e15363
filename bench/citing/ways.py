"""The ways to cite: the model's markers as they are, the check alone, both as it ships, and the check's two best."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from citemesh.client.types import Citation, Source
from gateway.query.answers.transcript import Transcript
from gateway.query.cite.citations import Checker, Claim
from gateway.query.flow import nowhere
from gateway.query.generate.claims import ClaimReader
from gateway.query.pack.token_vectors import SourceVectors
from gateway.query.ports import RerankerPort

WAYS = ("markers", "check", "both", "two best")
CHECK_S = 60.0


@dataclass(frozen=True, slots=True)
class Cited:
    """What one way cites at one sentence.

    Attributes:
        documents: ids of the documents, each once; "" for a marker that names no source.
        places: document, span and score of each citation; none where the way is markers alone.
    """

    documents: tuple[str, ...]
    places: tuple[tuple[str, int, int, float], ...] = ()


async def cited(
    claims: Sequence[Claim], sources: Sequence[Source], reranker: RerankerPort, vectors: SourceVectors
) -> dict[str, list[Cited]]:
    """Each way's citations of each sentence."""
    bare = [replace(claim, hints=frozenset()) for claim in claims]
    return {
        "markers": [marked(claim, sources) for claim in claims],
        "check": await checked(bare, sources, reranker, vectors),
        "both": await checked(claims, sources, reranker, vectors),
        "two best": await checked(bare, sources, reranker, vectors, per_sentence=2),
    }


def marked(claim: Claim, sources: Sequence[Source]) -> Cited:
    """The markers that the model wrote, believed."""
    named = {source.number: source.document_id for source in sources}
    return Cited(tuple(dict.fromkeys(named.get(number, "") for number in sorted(claim.hints))))


async def checked(
    claims: Sequence[Claim],
    sources: Sequence[Source],
    reranker: RerankerPort,
    vectors: SourceVectors,
    per_sentence: int = 1,
) -> list[Cited]:
    """What the gateway's own checker cites; at most so many a sentence beside those that the model named."""
    transcript = Transcript(nowhere)
    checker = Checker(reranker, sources, transcript, CHECK_S, per_sentence, vectors)
    for claim in claims:
        checker.add(claim)
    checker.close()
    await checker.run()
    assert not checker.failed, "the reranker failed; its log says why"
    found = (event.citations for event in transcript.citations)
    return [Cited(tuple(dict.fromkeys(one.document_id for one in each)), tuple(map(_place, each))) for each in found]


def cited_of(kept: dict[str, list[Any]]) -> Cited:
    """What was kept as JSON."""
    return Cited(tuple(kept["documents"]), tuple((place[0], place[1], place[2], place[3]) for place in kept["places"]))


def _place(one: Citation) -> tuple[str, int, int, float]:
    return one.document_id, one.location.span.start, one.location.span.end, one.score


def claims_of(written: str) -> list[Claim]:
    """Returns a whole text's sentences and the markers at them, read as the gateway reads its model."""
    reader = ClaimReader()
    return [*reader.feed(written).claims, *reader.close().claims]
