"""Documents as resources: their addresses, a page of them, their text."""

from urllib.parse import quote

from mcp.types import Resource

from citemesh.client.types import Document, Span
from citemesh.mcp.clients import MeshClients
from citemesh.mcp.shapes import ReadText

TEMPLATE = "citemesh://documents/{collection}/{document_id}"
MOST_LISTED = 200
"""Documents of all collections that are listed as resources; the others are read by their address."""
MOST_CHARACTERS = 20_000
"""Characters that one call reads."""


def address(collection: str, document_id: str) -> str:
    """A document's address as a resource."""
    return f"citemesh://documents/{quote(collection, safe='')}/{quote(document_id, safe='')}"


async def listed(clients: MeshClients) -> list[Resource]:
    """The first documents of each collection."""
    resources: list[Resource] = []
    for collection in await clients.collections.list():
        if collection.documents and len(resources) < MOST_LISTED:
            page, _ = await clients.documents.list(collection.name, MOST_LISTED - len(resources))
            resources += [_resource(document) for document in page]
    return resources


async def read(clients: MeshClients, document_id: str, collection: str, start: int, end: int | None) -> ReadText:
    """A stretch of a document's text: at most MOST_CHARACTERS from `start`, and not behind `end`."""
    document, _ = await clients.documents.get(document_id, collection, without_text=True)
    first = min(max(0, start), document.characters)
    last = min(first + MOST_CHARACTERS, document.characters if end is None else end, document.characters)
    last = max(first, last)
    text = ""
    if last > first:
        _, text = await clients.documents.get(document_id, collection, Span(first, last))
    return ReadText(
        document.document_id,
        document.collection,
        document.title,
        document.uri,
        first,
        last,
        document.characters,
        text,
    )


async def whole(clients: MeshClients, document_id: str, collection: str) -> str:
    """A document's whole text."""
    return (await clients.documents.get(document_id, collection))[1]


def _resource(document: Document) -> Resource:
    about = f"{document.source_type}, {document.characters} characters"
    uri = address(document.collection, document.document_id)
    return Resource(uri=uri, name=document.document_id, title=document.title, description=about, mime_type="text/plain")
