"""ZIP archives, as DOCX and EPUB are, from strangers: what may be inflated is bounded before and while it is.

Only the parts that a parser asks for are inflated, in memory; archives within the archive are never opened.
"""

import io
import struct
import zipfile
import zlib

from lxml import etree

from services.retrieval.ingestion.read.parsed import IngestFault

MOST_ENTRIES = 20_000
MOST_PART_BYTES = 64 * 1024 * 1024
MOST_BYTES = 192 * 1024 * 1024
MOST_RATIO = 250
_RATIO_FROM = 1024 * 1024
_AT_ONCE = 1024 * 1024
_DIRECTORY_END = b"PK\x05\x06"
_DIRECTORY_END_BYTES = 22
_LONGEST_COMMENT = 65535
_ENCRYPTED = 0x1


class Archive:
    """An open archive. Raises IngestFault BROKEN, TOO_LARGE."""

    def __init__(self, data: bytes) -> None:
        _few_entries(data)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self._entries = {entry.filename: entry for entry in self._zip.infolist()}
        except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, struct.error, OSError) as error:
            raise IngestFault("BROKEN", f"the ZIP archive can't be read: {error}", "export it again") from None
        self._left = MOST_BYTES

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str) -> bytes:
        """A part's bytes. Raises IngestFault BROKEN, TOO_LARGE, ENCRYPTED."""
        entry = self._entries.get(name)
        if entry is None:
            raise IngestFault("BROKEN", f"its part {name[:200]!r} is missing", "export it again")
        if entry.flag_bits & _ENCRYPTED:
            raise IngestFault("ENCRYPTED", f"its part {name[:200]!r} wants a password", "save it without one")
        most = min(MOST_PART_BYTES, self._left, max(_RATIO_FROM, entry.compress_size * MOST_RATIO))
        if entry.file_size > most:
            raise _bomb(name)
        part = self._inflated(entry, most)
        self._left -= len(part)
        return part

    def xml(self, name: str) -> "etree._Element":
        """A part as XML, without its entities and whatever lies outside it. Raises IngestFault BROKEN and as read."""
        return xml(self.read(name), name)

    def _inflated(self, entry: zipfile.ZipInfo, most: int) -> bytes:
        """Trusts the bytes alone, and not the size that the directory tells."""
        part = bytearray()
        try:
            with self._zip.open(entry) as opened:
                while block := opened.read(_AT_ONCE):
                    part += block
                    if len(part) > most:
                        raise _bomb(entry.filename)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError, struct.error) as error:
            message = f"its part {entry.filename[:200]!r} can't be read: {error}"
            raise IngestFault("BROKEN", message, "export it again") from None
        return bytes(part)


def xml(data: bytes, name: str) -> "etree._Element":
    """XML of a part. Raises IngestFault BROKEN."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise IngestFault("BROKEN", f"its part {name[:200]!r} is no XML: {error}", "export it again") from None


def _few_entries(data: bytes) -> None:
    """Looks before the directory is read, which costs memory for each entry."""
    at = data.rfind(_DIRECTORY_END, max(0, len(data) - _LONGEST_COMMENT - _DIRECTORY_END_BYTES))
    if at < 0 or len(data) - at < _DIRECTORY_END_BYTES:
        raise IngestFault("BROKEN", "the ZIP archive has no directory: it is cut off", "send the whole file")
    entries, directory = struct.unpack_from("<HI", data, at + 10)
    if entries > MOST_ENTRIES or directory > MOST_ENTRIES * 512:
        raise IngestFault("TOO_LARGE", f"the ZIP archive has over {MOST_ENTRIES} entries", "send fewer")


def _bomb(name: str) -> IngestFault:
    return IngestFault("TOO_LARGE", f"its part {name[:200]!r} grows beyond what a document needs", "split it")
