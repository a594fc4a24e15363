"""One document's bytes to its text and structure: detection, decoding and the parser of its type."""

from services.retrieval.ingest import html, markdown, pdf, text
from services.retrieval.ingest.detect import Detected, detect
from services.retrieval.ingest.encoding import decode, html_charset
from services.retrieval.ingest.parsed import IngestFault, Parsed, clean


def read(data: bytes, media_type: str = "", name: str = "") -> tuple[Detected, Parsed]:
    """Reads a document. Raises IngestFault; see its reasons in the protos."""
    if not data:
        raise IngestFault("EMPTY", "it has no bytes", "send a document that has some")
    detected = detect(data, media_type, name)
    parsed = _parse(data, detected)
    if not any(block.kind != "comment" for block in parsed.blocks) or not parsed.text.strip():
        raise IngestFault("NO_TEXT", "it holds no text", "send a document that has some")
    return detected, parsed


def _parse(data: bytes, detected: Detected) -> Parsed:
    if detected.source_type == "pdf":
        return pdf.parse(data)
    if detected.source_type == "html":
        return html.parse(decode(data, detected.charset or html_charset(data)))
    decoded = clean(decode(data, detected.charset))
    return markdown.parse(decoded) if detected.source_type == "markdown" else text.parse(decoded)
