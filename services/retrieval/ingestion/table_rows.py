"""Documents that a table made, in the store."""

from collections.abc import Sequence

from services.retrieval.engine import Engine

_PAGE = 1000


async def known_rows(engine: Engine, collection: str, table_id: str) -> dict[str, bytes]:
    """SHA-256 of the rows that are there, by document id."""
    known: dict[str, bytes] = {}
    after, more = "", True
    while more:
        page = await engine.documents(collection, after, _PAGE, table_id)
        known.update((it.document_id, bytes.fromhex(it.content_sha256)) for it in page if it.table_id == table_id)
        after, more = (page[-1].document_id, len(page) == _PAGE) if page else ("", False)
    return known


async def delete_rows(engine: Engine, collection: str, document_ids: Sequence[str]) -> None:
    """Deletes rows, a portion at a time."""
    for at in range(0, len(document_ids), _PAGE):
        await engine.delete(collection, document_ids[at : at + _PAGE])
