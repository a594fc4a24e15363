"""Small DOCX and EPUB files, written by hand, to bend and to break."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

FILES = Path(__file__).parent / "files"
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument'
    '.wordprocessingml.document.main+xml"/></Types>'
)


def archive(parts: Mapping[str, str | bytes], compress: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP archive of parts."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compress) as opened:
        for name, part in parts.items():
            opened.writestr(name, part)
    return data.getvalue()


def docx(body: str, before: str = "", **parts: str) -> bytes:
    """A DOCX document of a body, and of more parts under word/."""
    document = f'<?xml version="1.0"?>{before}<w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>'
    relations = "".join(
        f'<Relationship Id="{name}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{name}"'
        f' Target="{name}.xml"/>'
        for name in parts
    )
    return archive(
        {
            "[Content_Types].xml": _TYPES,
            "word/document.xml": document,
            "word/_rels/document.xml.rels": f"<Relationships>{relations}</Relationships>",
            **{f"word/{name}.xml": part.replace("<w:", f'<w:root xmlns:w="{_W}"><w:', 1) + "</w:root>"
               for name, part in parts.items()},
        }
    )  # fmt: skip


def epub(*chapters: str, metadata: str = "", more: Mapping[str, str | bytes] | None = None) -> bytes:
    """A book of chapters, which are bodies of pages."""
    items = "".join(
        f'<item id="c{n}" href="c%20{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata>{metadata}</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OPS/p.opf"/></rootfiles></container>',
            "OPS/p.opf": package,
            **{f"OPS/c {n}.xhtml": f"<html><head><title/></head><body>{it}</body></html>"
               for n, it in enumerate(chapters)},
            **(more or {}),
        }
    )  # fmt: skip


def run(text: str) -> str:
    """A paragraph of a DOCX document."""
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"
