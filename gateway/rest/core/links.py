"""The address that stands for a source where an API wants a URL."""

import re
from collections.abc import Sequence
from urllib.parse import quote

from starlette.requests import Request

from citemesh.client.types import Source
from gateway.query.pack.packing import documents

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


class Links:
    """Addresses of sources: a document's own URL, or that of the document in this gateway where it has none."""

    def __init__(self, base: str) -> None:
        self._base = base.rstrip("/")

    @classmethod
    def of(cls, request: Request) -> "Links":
        """Links that the request's caller can follow."""
        return cls(str(request.base_url))

    def to(self, source: Source) -> str:
        """The source's address."""
        if _URL.match(source.uri):
            return source.uri
        document, collection = quote(source.document_id), quote(source.collection, safe="")
        return f"{self._base}/v1/documents/{document}?collection={collection}"


def has_url(source: Source) -> bool:
    """Whether the document has a URL of its own."""
    return bool(_URL.match(source.uri))


def by_number(sources: Sequence[Source]) -> list[Source]:
    """One source a document, so that the one of number n is at n - 1."""
    ordered = sorted(documents(sources), key=lambda source: source.number)
    if [source.number for source in ordered] != list(range(1, len(ordered) + 1)):
        raise ValueError(f"the sources are not numbered from 1: {[source.number for source in ordered]}")
    return ordered
