"""PDF: the text of each page, by pdfium. Runs in the reader process, since pdfium may crash on hostile files."""

import re
from collections.abc import Iterator
from ctypes import c_double
from math import pi

import pypdfium2 as pdfium
from pypdfium2 import raw

from services.retrieval.ingestion.read.parsed import Block, IngestFault, Parsed, clean, paragraphs
from services.retrieval.ingestion.read.pdf.columns import MOST_BOXES, Box, Character, by_columns, interleaved
from services.retrieval.ingestion.read.pdf.direction import Glyph, holds_right_to_left, in_reading_order

MAX_PAGES = 10_000
MAX_CHARACTERS = 64 * 1024 * 1024
_HYPHENATED = re.compile("[\x02\ufffe]\n?|\u00ad\n")  # what pdfium writes for a hyphen at a line's end
_GLYPHLESS = re.compile("[\x00-\x08\x0b-\x1f]")
_BETWEEN_PAGES = "\n\n"
_PASSWORD = 4
_MEANT = ("Author", "Subject", "Keywords")
_USELESS = re.compile(
    r"^(?:untitled|title|document\d*|slide \d+|microsoft word - .*)$"
    r"|\.(?:docx?|pptx?|xlsx?|odt|rtf|indd|qxd|dvi|tex|pdf|ps|eps)$"
    "|[\ufffd\x00-\x1f]",
    re.IGNORECASE,
)


def parse(data: bytes) -> Parsed:
    """Reads a PDF. Raises IngestFault ENCRYPTED, BROKEN, NO_TEXT, TOO_LARGE."""
    document = _open(data)
    try:
        return _read(document)
    finally:
        document.close()


def _open(data: bytes) -> pdfium.PdfDocument:
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD or "password" in str(error).lower():
            raise IngestFault("ENCRYPTED", "the PDF needs a password", "save it without one") from None
        raise IngestFault("BROKEN", f"the PDF can't be opened: {error}", "export it again") from None


def _read(document: pdfium.PdfDocument) -> Parsed:
    if len(document) > MAX_PAGES:
        raise IngestFault("TOO_LARGE", f"the PDF has {len(document)} pages, over {MAX_PAGES}", "split it")
    parts: list[str] = []
    pages: list[int] = []
    blocks: list[Block] = []
    length = 0
    for number in range(len(document)):
        text = _page(document, number)
        pages.append(length)
        blocks += (Block(length + block.start, length + block.end) for block in paragraphs(text))
        parts.append(text)
        length += len(text) + len(_BETWEEN_PAGES)
        if length > MAX_CHARACTERS:
            raise IngestFault("TOO_LARGE", f"its text has over {MAX_CHARACTERS} characters", "split it")
    if not blocks:
        raise IngestFault("NO_TEXT", "no page of the PDF holds text", "run it through OCR first")
    about = _said(document)
    return Parsed(
        text=_BETWEEN_PAGES.join(parts),
        blocks=tuple(blocks),
        title="" if _USELESS.search(about.get("Title", "")) else about.get("Title", ""),
        published=_iso(about.get("CreationDate", "")),
        pages=tuple(pages),
        metadata={name.lower(): about[name] for name in _MEANT if name in about},
    )


def _page(document: pdfium.PdfDocument, number: int) -> str:
    """Text of a page; a page that can't be read is empty, as the others are worth having."""
    try:
        page = document[number]
        text_page = page.get_textpage()
        text = _text(text_page)
        text_page.close()
        page.close()
    except pdfium.PdfiumError:
        return ""
    text = _HYPHENATED.sub("", text.replace("\r\n", "\n"))
    return clean(_GLYPHLESS.sub(" ", text)).strip()


def _text(page: pdfium.PdfTextPage) -> str:
    """A page's text as it is written, or column by column where it is written across them."""
    boxes = [page.get_rect(number) for number in range(min(page.count_rects(), MOST_BOXES))]
    gap = interleaved(boxes)
    if gap is not None:
        return by_columns(_characters(page), gap)
    text = str(page.get_text_range())
    return in_reading_order(_glyphs(page)) if holds_right_to_left(text) else text


def _glyphs(page: pdfium.PdfTextPage) -> Iterator[Glyph]:
    """Characters along their lines, whichever way these go; those that pdfium has no letter for are left out."""
    x, y = c_double(), c_double()
    half = ""
    for number in range(page.count_chars()):
        text = half + chr(raw.FPDFText_GetUnicode(page, number))
        half = text if len(text) == 1 and "\ud800" <= text <= "\udfff" else ""
        if half or (not text.isascii() and raw.FPDFText_HasUnicodeMapError(page, number)):
            continue
        raw.FPDFText_GetCharOrigin(page, number, x, y)
        box = page.get_charbox(number, loose=True)
        (left, low, right, high), origin = _turned_by(raw.FPDFText_GetCharAngle(page, number), box, (x.value, y.value))
        yield Glyph(_joined(text), min(left, origin[0]), right, low, high, *origin)


def _turned_by(angle: float, box: Box, origin: tuple[float, float]) -> tuple[Box, tuple[float, float]]:
    """A box and a point as they lie where the page is turned so that its lines go to the right."""
    left, low, right, high = box
    x, y = origin
    match round(2 * angle / pi) % 4:
        case 0:
            return box, origin
        case 1:
            return (low, -right, high, -left), (y, -x)
        case 2:
            return (-right, -high, -left, -low), (-x, -y)
        case _:
            return (-high, left, -low, right), (-y, x)


def _joined(text: str) -> str:
    """The character that two halves make; pdfium turns halves round in right-to-left text."""
    return min(text, text[::-1]).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _characters(page: pdfium.PdfTextPage) -> Iterator[Character]:
    for number in range(page.count_chars()):
        left, _, right, _ = page.get_charbox(number)
        yield str(page.get_text_range(number, 1)), left, right


def _said(document: pdfium.PdfDocument) -> dict[str, str]:
    """The PDF's own metadata; nothing where it can't be read."""
    try:
        entries = document.get_metadata_dict(skip_empty=True)
    except (pdfium.PdfiumError, ValueError):
        return {}
    words = {name: clean(" ".join(str(value).split())) for name, value in entries.items()}
    return {name: value for name, value in words.items() if value}


def _iso(date: str) -> str:
    """A PDF date, such as D:20240131120000+01'00', as ISO 8601; empty where it is none."""
    match = re.match(r"D:(\d{4})(\d\d)(\d\d)", date)
    return f"{match[1]}-{match[2]}-{match[3]}" if match else ""
