"""Documents in a request: the body itself, or the files of a multipart form.

Both are bounded while they arrive, and lie in temporary files once they are over 1 MiB, so that what is held in memory
doesn't grow with them. They are passed on when they are whole: a caller that hangs up before leaves nothing behind, and
one that is slow keeps nobody's place but its own.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO, Any, cast

from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from citemesh.client.types import Upload
from citemesh.contract.bounds import PART_BYTES
from citemesh.errors import InvalidInput
from gateway.rest.core.body import texts_by_name
from gateway.rest.core.errors import BodyStalled, BodyTooLarge
from gateway.rest.core.fields import Fields

MOST_FILES = 32
MOST_FIELDS = 64
FIELD_BYTES = 1024 * 1024
FRAME_BYTES = 128 * 1024
"""What a form may have beside its files."""
IN_MEMORY_BYTES = 1024 * 1024
STALL_S = 60.0
"""Longest wait for the next part of a body: who sends nothing gives its place up."""
LINGER_S = 15.0
"""How long the rest of a refused body is read, and thrown away, so that its sender gets to read the refusal."""
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


@asynccontextmanager
async def received(request: Request, query: dict[str, Any], most_bytes: int) -> AsyncIterator[list[Named]]:
    """The documents of a request, which can be read within the block.

    Raises InvalidInput, BodyTooLarge, BodyStalled.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        form = await _parsed(request.headers, bounded(request, most_bytes, FRAME_BYTES))
        try:
            yield _of_form(form, query)
        finally:
            await form.close()
        return
    file = _file()
    try:
        yield [await _whole(request, query, most_bytes, kind, file)]
    finally:
        await file.close()


async def bounded(request: Request, most_bytes: int, form_bytes: int = 0) -> AsyncGenerator[bytes]:
    """The parts of a body. Raises BodyTooLarge as soon as there are too many bytes or it says that there will be.

    Args:
        form_bytes: bytes that it may have besides those that are told as the most.
    """
    most, size, parts = most_bytes + form_bytes, 0, aiter(request.stream())
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > most:
        raise await _too_large(parts, most_bytes)
    while (part := await _next(parts)) is not None:
        size += len(part)
        if size > most:
            raise await _too_large(parts, most_bytes)
        yield part


async def _next(parts: AsyncIterator[bytes]) -> bytes | None:
    try:
        async with asyncio.timeout(STALL_S):
            return await anext(parts, None)
    except TimeoutError:
        raise BodyStalled(f"no part of the body came for {STALL_S:g} s", "send it again") from None


async def _too_large(parts: AsyncIterator[bytes], most_bytes: int) -> BodyTooLarge:
    """The refusal, once its sender can read it: most send all of a body before they read, and a connection that is
    closed on them before takes the answer with it.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while await anext(parts, None) is not None:
                pass
    return BodyTooLarge("body", f"is over {most_bytes} bytes", "send less, or use gRPC (`citemesh ingest`)")


def _file() -> UploadFile:
    return UploadFile(cast(IO[bytes], SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)), size=0)  # type: ignore[arg-type]  # it reads and writes


async def _whole(request: Request, query: dict[str, Any], most_bytes: int, kind: str, file: UploadFile) -> Named:
    async for part in bounded(request, most_bytes):
        await file.write(part)
    if not file.size:
        raise InvalidInput("body", "is empty", "send the document's bytes, or a multipart form with `file`")
    name = FILENAME.of(query) or TITLE.of(query) or "document"
    return Named(name, _upload("0", file, name, kind, query))


async def _parsed(headers: Headers, parts: AsyncGenerator[bytes]) -> FormData:
    try:
        parser = MultiPartParser(
            headers, parts, max_files=MOST_FILES, max_fields=MOST_FIELDS, max_part_size=FIELD_BYTES
        )
        parser.spool_max_size = IN_MEMORY_BYTES
        return await parser.parse()
    except (MultiPartException, KeyError) as error:  # KeyError: no boundary
        fault = getattr(error, "message", "has no boundary")
        raise InvalidInput("body", f"is no multipart form: {fault}", "send multipart/form-data") from None


def _of_form(form: FormData, query: dict[str, Any]) -> list[Named]:
    about_all = FORM.from_texts({key: value for key, value in form.multi_items() if isinstance(value, str)})
    files = [value for _, value in form.multi_items() if isinstance(value, UploadFile)]
    if not files:
        raise InvalidInput(FILE.name, "is missing", "send the document as a file of the form")
    about = query | about_all
    _check_single(about, len(files))
    return [_one_of(at, file, about) for at, file in enumerate(files)]


def _check_single(about: dict[str, Any], files: int) -> None:
    for field in (DOCUMENT_ID, TITLE, URI):
        if files > 1 and field.of(about):
            raise InvalidInput(field.name, f"stands for one document, and {files} were sent", "send one at a time")


def _one_of(at: int, file: UploadFile, about: dict[str, Any]) -> Named:
    name = file.filename or f"document {at + 1}"
    kind = (file.content_type or "").partition(";")[0].strip().lower()
    return Named(name, _upload(str(at), file, name, kind, about))


def _upload(mark: str, file: UploadFile, name: str, kind: str, about: dict[str, Any]) -> Upload:
    return Upload(
        correlation_id=mark,
        data=b"",
        collection=COLLECTION.of(about),
        document_id=DOCUMENT_ID.of(about),
        title=TITLE.of(about),
        uri=URI.of(about) or name,
        media_type="" if kind in ANY_TYPE else kind,
        metadata=texts_by_name(METADATA.name, METADATA.of(about)),
        parts=_parts(file),
        size_bytes=file.size or 0,
    )


async def _parts(file: UploadFile) -> AsyncIterator[bytes]:
    await file.seek(0)
    while part := await file.read(PART_BYTES):
        yield part
