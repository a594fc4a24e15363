"""From bytes to text: by byte order mark, by what was declared, else strictly UTF-8."""

import codecs
import re

from services.retrieval.ingestion.read.parsed import IngestFault

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
_META_WITHIN = 4096


def decode(data: bytes, charset: str = "") -> str:
    """The text of bytes. A byte order mark counts for more than a declared charset.

    Raises IngestFault INVALID_ENCODING, which names the first byte that is none.
    """
    mark, encoding = encoding_of(data, charset)
    try:
        return data[mark:].decode(encoding)
    except UnicodeDecodeError as error:
        raise IngestFault(
            "INVALID_ENCODING",
            f"byte {error.start + mark} (0x{error.object[error.start]:02x}) is not {encoding.upper()}",
            "save the file as UTF-8, or declare its charset as in text/plain; charset=gb18030",
        ) from None


def encoding_of(data: bytes, charset: str = "") -> tuple[int, str]:
    """Length of the byte order mark, and the encoding. Raises IngestFault INVALID_ENCODING for an unknown charset."""
    mark, encoding = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", ""))
    return len(mark), encoding or _known(charset) or "utf-8"


def head(data: bytes, charset: str = "") -> str:
    """The text of a document's first bytes, as far as it can be read; the last character may be cut."""
    mark, encoding = encoding_of(data, charset)
    errors = "surrogateescape" if encoding == "utf-8" else "replace"
    return codecs.getincrementaldecoder(encoding)(errors).decode(data[mark:])


def html_charset(data: bytes) -> str:
    """The charset that an HTML page declares in its first bytes; empty where none or an unknown one."""
    match = _META.search(data, 0, _META_WITHIN)
    name = match[1].decode("ascii") if match else ""
    try:
        return codecs.lookup(name).name if name else ""
    except LookupError:
        return ""


def _known(charset: str) -> str:
    if not charset:
        return ""
    try:
        info = codecs.lookup(charset)
        if not isinstance("".encode(info.name), bytes) or not isinstance(b"".decode(info.name), str):
            raise LookupError
    except (LookupError, ValueError, AttributeError):
        raise IngestFault(
            "INVALID_ENCODING", f"the charset {charset[:40]!r} is not known", "declare a known one, or save as UTF-8"
        ) from None
    return info.name
