"""Documents in Milvus: written whole or not at all, though Milvus has no transactions.

A document's rows carry a version, and one row, its document's, names the version that counts. So a change is:

1. an intent, by which its rows are found should it never end;
2. the rows of the new version, which no reader takes yet;
3. the document's row, replaced in one step of Milvus: from here on the new version counts and the old doesn't;
4. the rows of the old version are deleted, then the intent.

Several documents go through these together, with one step 3. A document that replaces a table, or a table's row that
replaces a document, also has an intent for each displaced document, which names the version that displaces it: those
rows are deleted right after step 3, or by the sweep where that was not done.

A reader takes rows of the version that counts alone. What an unfinished change left behind is removed an hour later;
a change that takes half of that gives up before its step 3. All calls here block.
"""

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pymilvus import MilvusClient

from citemesh.errors import DeadlineExceeded, NotFound
from services.retrieval.engines.milvus import rows
from services.retrieval.engines.milvus.filter import key, quoted
from services.retrieval.engines.milvus.rows import Row
from services.retrieval.engines.milvus.schema import DOCUMENT_FIELDS, NO_VECTOR, Names
from services.retrieval.types.document import Deletion, DocumentInfo, NewDocument

LEFT_BEHIND_S = 3600.0
_AT_ONCE = 100
"""Rows of one insert: at most some 25 MB."""
_KEYS_AT_ONCE = 500
_PAGE = 1000
_GIVES_WAY = ">"
"""In an intent, between the version of a displaced document and the version that displaces it."""


class MilvusStore:
    """Documents of all collections. now: seconds since 1970, for tests."""

    def __init__(self, client: MilvusClient, names: Names, now: Callable[[], float] = time.time) -> None:
        self._client = client
        self._names = names
        self._now = now
        # So that of two changes of this process the later number is written last.
        self._numbering = threading.Lock()

    def put_many(self, documents: Sequence[NewDocument]) -> int:
        """Stores or replaces documents of one collection, whole or not at all; returns the change's number.

        Raises InvalidInput for what Milvus can't hold.
        """
        name, new = documents[0].info.collection, _lasting(documents)
        versions = {id_: self._version() for id_ in new}
        document_rows = [rows.document_row(new[id_].info, version) for id_, version in versions.items()]
        chunks = [row for id_, version in versions.items() for row in rows.chunk_rows(new[id_], version)]
        parts = [row for id_, version in versions.items() for row in rows.part_rows(new[id_], version)]
        old, displaced = self._before(name, new)
        successions = {id_: f"{row['version']}{_GIVES_WAY}{versions[by]}" for id_, (row, by) in displaced.items()}
        ends = {id_: self._version() for id_ in displaced}
        self._intend(name, [(id_, version, old.get(id_, "")) for id_, version in versions.items()])
        self._intend(name, [(id_, ends[id_], succession) for id_, succession in successions.items()])
        self._insert(self._names.parts(name), parts)
        self._insert(self._names.chunks(name), chunks)
        self._require_young(next(iter(versions.values())))
        self._client.upsert(self._names.documents(name), document_rows)
        self._delete(self._names.documents(name), "id", list(displaced))
        number = self.changed(name)
        self._forget(name, [*old.values(), *(row["version"] for row, _ in displaced.values())])
        self._end([*versions.values(), *ends.values()])
        return number

    def _before(self, name: str, new: Mapping[str, NewDocument]) -> tuple[dict[str, str], dict[str, tuple[Row, str]]]:
        """Versions of the documents that are replaced, by their keys, and rows of the documents that are displaced.

        Each of the latter comes with the key of the new document that displaces it.
        """
        tables = {key(document.info.table_id): id_ for id_, document in new.items() if document.info.table_id}
        present = self.committed(name, new.keys() | tables.keys())
        displaced = {id_: (row, tables[id_]) for id_, row in present.items() if id_ not in new}
        displaced |= {row["id"]: (row, row["table"]) for row in self._rows_of_tables(name, new) if row["id"] not in new}
        return {id_: row["version"] for id_, row in present.items() if id_ in new}, displaced

    def delete(self, collection: str, document_ids: Sequence[str]) -> Deletion:
        """Deletes documents, and the rows of tables, in one step."""
        keys = {key(document_id) for document_id in document_ids if document_id}
        present = self.committed(collection, keys)
        tables = self._rows_of_tables(collection, keys)
        doomed = {**present, **{row["id"]: row for row in tables}}
        number = 0
        if doomed:
            versions = [row["version"] for row in doomed.values()]
            ends = [self._version() for _ in versions]
            self._intend(collection, zip(doomed, ends, versions, strict=True))
            self._delete(self._names.documents(collection), "id", list(doomed))
            number = self.changed(collection)
            self._forget(collection, versions)
            self._end(ends)
        deleted_keys = present.keys() | {row["table"] for row in tables}
        names = list(dict.fromkeys(document_ids))
        deleted = tuple(name for name in names if name and key(name) in deleted_keys)
        missing = tuple(name for name in names if name not in deleted)
        return Deletion(deleted, missing, number or self.last_change(collection))

    def changed(self, collection: str) -> int:
        """Numbers a change that was made, by whichever replica: above the number before, and the time if it can be."""
        with self._numbering:
            number = max(self.last_change(collection) + 1, int(self._now() * 1_000_000))
            row = {"id": key(collection), "number": number, "vector": NO_VECTOR}
            self._client.upsert(self._names.changes, [row])
            return number

    def last_change(self, collection: str) -> int:
        """The number of the last change that was made by any replica; 0 before the first."""
        expression = f'id == "{key(collection)}"'
        answer = self._client.query(self._names.changes, filter=expression, output_fields=["number"])
        return int(answer[0]["number"]) if answer else 0

    def committed(self, collection: str, ids: Iterable[str]) -> dict[str, Row]:
        """The documents' rows, by the hash of their ids."""
        by_id: dict[str, Row] = {}
        for portion in _portions(list(ids), _KEYS_AT_ONCE):
            expression = f"id in [{quoted(portion)}]"
            answer = self._client.query(
                self._names.documents(collection), filter=expression, output_fields=list(DOCUMENT_FIELDS)
            )
            by_id |= {row["id"]: row for row in answer}
        return by_id

    def document(self, collection: str, document_id: str, with_text: bool) -> tuple[DocumentInfo, str]:
        """Reads a document and its text, both of one version. Raises NotFound."""
        while True:
            row = self.committed(collection, [key(document_id)]).get(key(document_id))
            if row is None:
                raise NotFound("document", document_id, "ListDocuments answers the ids of a collection")
            info = rows.document_of(row)
            text = self.part(collection, row["version"], "text") if with_text else ""
            if not with_text or len(text) == info.characters or self._counts(collection, row):
                return info, text

    def documents(self, collection: str, after: str, limit: int, table_id: str) -> tuple[DocumentInfo, ...]:
        """Lists by id. Milvus knows no order, so each page reads all ids after `after`."""
        expression = f'place > "{rows.order(after)}"'
        if table_id:
            expression += f' and table == "{key(table_id)}"'
        places = {row["place"]: row["id"] for row in self._all(collection, expression, ["id", "place"])}
        ids = [places[place] for place in sorted(places)[:limit]]
        by_id = self.committed(collection, ids)
        return tuple(rows.document_of(by_id[id_]) for id_ in ids if id_ in by_id)

    def part(self, collection: str, version: str, kind: str) -> str:
        """A long text of a version; empty where it has none, or was replaced meanwhile."""
        name, expression = self._names.parts(collection), f'version == "{version}" and kind == "{kind}"'
        return rows.joined(list(self._each(name, expression, ["at", "data"])))

    def sweep(self) -> int:
        """Removes what unfinished changes left behind; returns how many there were."""
        cutoff = _stamp(self._now() - LEFT_BEHIND_S)
        fields = ["id", "collection", "document", "old"]
        late = list(self._each(self._names.intents, f'id < "{cutoff}"', fields))
        for intent in late:
            name = intent["collection"]
            if self._client.has_collection(self._names.documents(name)):
                self._clear(name, intent)
            self._end([intent["id"]])
        return len(late)

    def _clear(self, name: str, intent: Row) -> None:
        """Removes the rows of an intent's versions that don't count; deletes a displaced document first."""
        row = self.committed(name, [intent["document"]]).get(intent["document"])
        old, _, new = intent["old"].partition(_GIVES_WAY)
        if new and row and row["version"] == old and self._is_there(name, new):
            self._delete(self._names.documents(name), "id", [row["id"]])
            self.changed(name)
            row = None
        counts = row["version"] if row else ""
        self._forget(name, [version for version in (intent["id"], old) if version not in ("", counts)])

    def _is_there(self, name: str, version: str) -> bool:
        """Whether a version counts."""
        return any(True for _ in self._all(name, f'version == "{version}"', ["id"]))

    def _counts(self, collection: str, row: Row) -> bool:
        now = self.committed(collection, [row["id"]]).get(row["id"])
        return now is not None and bool(now["version"] == row["version"])

    def _version(self) -> str:
        """Ordered by time, and never the same twice."""
        return _stamp(self._now()) + secrets.token_hex(6)

    def _require_young(self, version: str) -> None:
        if version < _stamp(self._now() - LEFT_BEHIND_S / 2):
            raise DeadlineExceeded("storing the document", "Milvus takes too long; look at its load")

    def _intend(self, collection: str, changes: Iterable[tuple[str, str, str]]) -> None:
        intents = [
            {"id": version, "collection": collection, "document": id_, "old": old, "vector": NO_VECTOR}
            for id_, version, old in changes
        ]
        self._insert(self._names.intents, intents)

    def _end(self, versions: Sequence[str]) -> None:
        self._delete(self._names.intents, "id", versions)

    def _forget(self, collection: str, versions: Sequence[str]) -> None:
        """Removes the rows of versions that don't count any more."""
        for name in (self._names.chunks(collection), self._names.parts(collection)):
            self._delete(name, "version", versions)

    def _insert(self, name: str, new_rows: Sequence[Mapping[str, Any]]) -> None:
        for portion in _portions(list(new_rows), _AT_ONCE):
            self._client.insert(name, [dict(row) for row in portion])

    def _delete(self, name: str, field: str, values: Sequence[str]) -> None:
        for portion in _portions(list(values), _KEYS_AT_ONCE):
            self._client.delete(name, filter=f"{field} in [{quoted(portion)}]")

    def _rows_of_tables(self, collection: str, ids: Iterable[str]) -> list[Row]:
        table_rows: list[Row] = []
        for portion in _portions(list(ids), _KEYS_AT_ONCE):
            table_rows += self._all(collection, f"table in [{quoted(portion)}]", ["id", "version", "table"])
        return table_rows

    def _all(self, collection: str, expression: str, fields: list[str]) -> Iterator[Row]:
        return self._each(self._names.documents(collection), expression, fields)

    def _each(self, name: str, expression: str, fields: list[str]) -> Iterator[Row]:
        pages = self._client.query_iterator(name, batch_size=_PAGE, filter=expression, output_fields=fields)
        try:
            while page := pages.next():
                yield from page
        finally:
            pages.close()


def _lasting(documents: Sequence[NewDocument]) -> dict[str, NewDocument]:
    """Those that remain in the end, by the keys of their ids: a later one replaces an earlier one."""
    lasting: dict[str, NewDocument] = {}
    for new in documents:
        lasting.pop(new.info.table_id, None)
        for id_ in [id_ for id_, document in lasting.items() if document.info.table_id == new.info.document_id]:
            del lasting[id_]
        lasting[new.info.document_id] = new
    return {key(id_): document for id_, document in lasting.items()}


def _stamp(at: float) -> str:
    return f"{int(at * 1_000_000):016x}"


def _portions(items: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    return (items[start : start + most] for start in range(0, len(items), most))
