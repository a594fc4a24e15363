"""Documents as resources: their addresses, a page of them, their text."""

from urllib.parse import quote

from mcp.types import Resource

from citemesh.client.types import Document, Span
from citemesh.mcp.clients import MeshClients
from citemesh.mcp.shapes import ReadText

TEMPLATE = "citemesh://documents/{collection}/{document_id}"
MOST_LISTED = 200
"""Documents of all collections that are listed as resources; others are read by their address."""
MOST_CHARACTERS = 20_000
"""Characters that one call reads."""


def address(collection: str, document_id: str) -> str:
    """Returns a document's address as a resource."""
    return f"citemesh://documents/{quote(collection, safe='')}/{quote(document_id, safe='')}"


async def resources(clients: MeshClients) -> list[Resource]:
    """Lists the first documents of each collection, MOST_LISTED in all."""
    entries: list[Resource] = []
    for collection in await clients.collections.list():
        if collection.documents and len(entries) < MOST_LISTED:
            page, _ = await clients.documents.list(collection.name, MOST_LISTED - len(entries))
            entries += [_resource(document) for document in page]
    return entries


async def read(clients: MeshClients, document_id: str, collection: str, start: int, end: int | None) -> ReadText:
    """Reads a stretch of a document's text: at most MOST_CHARACTERS from `start`, and none from `end` on."""
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


async def full_text(clients: MeshClients, document_id: str, collection: str) -> str:
    """Reads a document's whole text."""
    return (await clients.documents.get(document_id, collection))[1]


def _resource(document: Document) -> Resource:
    uri = address(document.collection, document.document_id)
    description = f"{document.source_type}, {document.characters} characters"
    return Resource(
        uri=uri, name=document.document_id, title=document.title, description=description, mime_type="text/plain"
    )
