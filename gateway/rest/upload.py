"""Documents in a request: the body itself, or the files of a multipart form. Both are bounded while they arrive."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from citemesh.client.types import Upload
from citemesh.errors import InvalidInput
from gateway.rest.body import texts_by_name
from gateway.rest.errors import BodyTooLarge
from gateway.rest.fields import Fields

MOST_FILES = 32
MOST_FIELDS = 64
PART_BYTES = 1024 * 1024
ANY_TYPE = ("application/octet-stream", "application/x-www-form-urlencoded", "")
"""Media types that say nothing of a document: what it is will be found out."""

ABOUT = Fields()
COLLECTION = ABOUT.text("collection", 'Collection to put it in; "default" where left out.')
DOCUMENT_ID = ABOUT.text("document_id", "Id to keep it under; made of its bytes where left out. For one document.")
TITLE = ABOUT.text("title", "Its title; the document's own, then the file's name where left out. For one document.")
URI = ABOUT.text("uri", "Address that a reader can open. For one document.")
METADATA = ABOUT.object("metadata", "Kept with it: an object of texts, as JSON.")

RAW = Fields(ABOUT)
FILENAME = RAW.text("filename", "Name of the file, which tells the format where nothing else does.")
STREAM = RAW.flag("stream", "Answers with server-sent events of its progress.")

FORM = Fields(ABOUT)
_BYTES = {"type": "string", "format": "binary"}
FILE = FORM.anything("file", f"The document; may be repeated, up to {MOST_FILES}.", _BYTES, True)


@dataclass(frozen=True, slots=True)
class Named:
    """A document to take in, and the name that its reports carry."""

    name: str
    upload: Upload


async def uploads(request: Request, query: dict[str, Any], most_bytes: int) -> list[Named]:
    """The documents of a request. Raises InvalidInput, BodyTooLarge."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return await _form(request, query, most_bytes)
    data = b"".join([part async for part in bounded(request.stream(), most_bytes)])
    if not data:
        raise InvalidInput("body", "is empty", "send the document's bytes, or a multipart form with `file`")
    name = FILENAME.of(query) or TITLE.of(query) or "document"
    return [Named(name, _upload("0", data, name, "" if kind in ANY_TYPE else kind, query))]


async def bounded(parts: AsyncIterator[bytes], most_bytes: int) -> AsyncGenerator[bytes]:
    """The parts of a body. Raises BodyTooLarge as soon as there are too many bytes."""
    size = 0
    async for part in parts:
        size += len(part)
        if size > most_bytes:
            raise BodyTooLarge("body", f"is over {most_bytes} bytes", "send less")
        yield part


async def _form(request: Request, query: dict[str, Any], most_bytes: int) -> list[Named]:
    form = await _parsed(request.headers, bounded(request.stream(), most_bytes))
    try:
        said = FORM.from_texts({key: value for key, value in form.multi_items() if isinstance(value, str)})
        about = query | said
        files = [value for _, value in form.multi_items() if isinstance(value, UploadFile)]
        if not files:
            raise InvalidInput(FILE.name, "is missing", "send the document as a file of the form")
        _check_single(about, len(files))
        return [await _file(at, one, about) for at, one in enumerate(files)]
    finally:
        await form.close()


async def _parsed(headers: Headers, parts: AsyncGenerator[bytes]) -> FormData:
    try:
        parser = MultiPartParser(headers, parts, max_files=MOST_FILES, max_fields=MOST_FIELDS, max_part_size=PART_BYTES)
        return await parser.parse()
    except (MultiPartException, KeyError) as error:  # KeyError: no boundary
        fault = getattr(error, "message", "has no boundary")
        raise InvalidInput("body", f"is no multipart form: {fault}", "send multipart/form-data") from None


def _check_single(about: dict[str, Any], files: int) -> None:
    for field in (DOCUMENT_ID, TITLE, URI):
        if files > 1 and field.of(about):
            raise InvalidInput(field.name, f"stands for one document, and {files} were sent", "send one at a time")


async def _file(at: int, file: UploadFile, about: dict[str, Any]) -> Named:
    name = file.filename or f"document {at + 1}"
    kind = (file.content_type or "").partition(";")[0].strip().lower()
    return Named(name, _upload(str(at), await file.read(), name, "" if kind in ANY_TYPE else kind, about))


def _upload(mark: str, data: bytes, name: str, media_type: str, about: dict[str, Any]) -> Upload:
    return Upload(
        correlation_id=mark,
        data=data,
        collection=COLLECTION.of(about),
        document_id=DOCUMENT_ID.of(about),
        title=TITLE.of(about),
        uri=URI.of(about) or name,
        media_type=media_type,
        metadata=texts_by_name(METADATA.name, METADATA.of(about)),
    )
