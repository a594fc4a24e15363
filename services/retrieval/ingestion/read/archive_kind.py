"""What kind of document a ZIP archive is."""

from typing import Literal

from services.retrieval.ingestion.read.archive import Archive
from services.retrieval.ingestion.read.parsed import IngestFault

_MIMETYPE = "mimetype"
_CONTAINER = "META-INF/container.xml"
_TYPES = "[Content_Types].xml"
_WORD = b"wordprocessingml.document.main+xml"
_WORD_MACROS = b"application/vnd.ms-word.document.macroEnabled.main+xml"
_OTHERS = (
    (b"spreadsheetml", "a workbook", "save it as CSV"),
    (b"presentationml", "a presentation", "export it as PDF"),
    (b"wordprocessingml.template", "a DOCX template", "save it as DOCX"),
)
_LONGEST_MIMETYPE = 100


def kind_of(data: bytes) -> Literal["docx", "epub"]:
    """Raises IngestFault UNSUPPORTED_TYPE for any other archive, BROKEN for one that can't be read."""
    archive = Archive(data)
    if _TYPES in archive:
        return _office(archive.read(_TYPES))
    mimetype = archive.read(_MIMETYPE)[:_LONGEST_MIMETYPE].strip() if _MIMETYPE in archive else b""
    if mimetype == b"application/epub+zip" or (not mimetype and _CONTAINER in archive):
        return "epub"
    if mimetype.startswith(b"application/vnd.oasis.opendocument"):
        raise IngestFault("UNSUPPORTED_TYPE", "it is an OpenDocument file", "save it as DOCX or PDF")
    raise IngestFault("UNSUPPORTED_TYPE", "it is a ZIP archive", "send the files in it")


def _office(types: bytes) -> Literal["docx"]:
    if _WORD in types or _WORD_MACROS in types:
        return "docx"
    for mark, format_name, remedy in _OTHERS:
        if mark in types:
            raise IngestFault("UNSUPPORTED_TYPE", f"it is {format_name}", remedy)
    raise IngestFault("UNSUPPORTED_TYPE", "it is an Office document without text", "save it as DOCX or PDF")
