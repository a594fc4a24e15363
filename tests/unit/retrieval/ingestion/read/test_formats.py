"""DOCX, EPUB and source code: real files, files bent and broken, and types that are declared wrongly."""

import io
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from services.retrieval.ingestion.describe import described
from services.retrieval.ingestion.read.document import read
from services.retrieval.ingestion.read.parsed import IngestFault, Parsed
from services.retrieval.ingestion.read.process.reader import ProcessReader
from services.retrieval.ingestion.upload import Header, Upload

from .archives import FILES, archive, docx, epub, run

DOCX_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
EPUB_TYPE = "application/epub+zip"
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
DRM = {"META-INF/encryption.xml": "<e><CipherReference URI='OPS/c%200.xhtml'/></e>"}


def parsed_of(data: bytes, media_type: str = "", name: str = "") -> Parsed:
    _, parsed = read(data, media_type, name)
    assert isinstance(parsed, Parsed)
    assert all(0 <= it.start < it.end <= len(parsed.text) for it in parsed.blocks)
    return parsed


def texts(parsed: Parsed, kind: str) -> list[str]:
    return [parsed.text[it.start : it.end] for it in parsed.blocks if it.kind == kind]


def fault_of(data: bytes, media_type: str = "", name: str = "") -> IngestFault:
    with pytest.raises(IngestFault) as caught:
        read(data, media_type, name)
    assert caught.value.message
    assert caught.value.remedy
    return caught.value


def test_a_word_processors_document() -> None:
    parsed = parsed_of((FILES / "report.docx").read_bytes())
    assert (parsed.title, parsed.language) == ("A report on tea", "en")
    assert parsed.metadata == {"author": "Ann Lee; Bo Chen", "subject": "Tea"}
    assert parsed.published.startswith("20")
    headings = [(parsed.text[it.start : it.end], it.level) for it in parsed.blocks if it.kind == "heading"]
    assert headings == [("A report on tea", 1), ("Brewing", 1), ("Steps", 2), ("茶道", 1)]
    assert texts(parsed, "table") == ["leaf | degrees\ngreen | 80\nblack | 95"]
    assert texts(parsed, "code") == ["def brew():\n\n    return 80"]
    paragraphs = texts(parsed, "paragraph")
    assert "Green tea[1] wants water of eighty degrees. 绿茶要用八十度的水。" in paragraphs
    assert "[1] From Camellia sinensis, unlike herbal teas." in paragraphs
    assert "- Heat the water\n- Pour\n  - slowly\n  - evenly" in paragraphs


def test_a_book() -> None:
    parsed = parsed_of((FILES / "report.epub").read_bytes())
    assert (parsed.title, parsed.language, parsed.published) == ("A report on tea", "en", "2024-03-05")
    assert parsed.metadata["author"] == "Ann Lee, Bo Chen"
    assert texts(parsed, "heading") == ["A report on tea", "Brewing", "Steps", "茶道"]
    assert texts(parsed, "table") == ["leaf | degrees\ngreen | 80\nblack | 95"]
    assert texts(parsed, "code") == ["def brew():\n\n    return 80"]
    assert parsed.text.index("Green tea") < parsed.text.index("Camellia") < parsed.text.index("第二章")


def test_what_word_processors_hide_is_left_out() -> None:
    body = (
        "<w:p><w:r><w:t>Kept</w:t><w:tab/><w:t>words</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t> added</w:t></w:r></w:ins><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
        '<w:p><w:pPr><w:pStyle w:val="T"/></w:pPr><w:r><w:t>Contents 1</w:t></w:r></w:p>'
        "<w:sdt><w:sdtContent>" + run("In a field") + "</w:sdtContent></w:sdt>"
    )
    styles = '<w:style w:styleId="T"><w:name w:val="toc 1"/></w:style>'
    assert texts(parsed_of(docx(body, styles=styles)), "paragraph") == ["Kept words added", "In a field"]


def test_headings_by_style_by_base_and_by_outline() -> None:
    styles = (
        '<w:style w:styleId="A"><w:name w:val="heading 2"/></w:style>'
        '<w:style w:styleId="B"><w:name w:val="Own"/><w:basedOn w:val="A"/></w:style>'
        '<w:style w:styleId="L1"><w:name w:val="x"/><w:basedOn w:val="L2"/></w:style>'
        '<w:style w:styleId="L2"><w:name w:val="y"/><w:basedOn w:val="L1"/></w:style>'
    )
    body = "".join(
        f"<w:p><w:pPr>{settings}</w:pPr><w:r><w:t>{name}</w:t></w:r></w:p>"
        for name, settings in (
            ("two", '<w:pStyle w:val="A"/>'),
            ("based", '<w:pStyle w:val="B"/>'),
            ("outline", '<w:outlineLvl w:val="2"/>'),
            ("body", '<w:pStyle w:val="A"/><w:outlineLvl w:val="9"/>'),
            ("circle", '<w:pStyle w:val="L1"/>'),
        )
    )
    parsed = parsed_of(docx(body, styles=styles))
    assert [(it.kind, it.level) for it in parsed.blocks] == [
        ("heading", 2), ("heading", 2), ("heading", 3), ("paragraph", 0), ("paragraph", 0),
    ]  # fmt: skip


def test_a_table_within_a_table_is_read_once() -> None:
    inner = f"<w:tbl><w:tr><w:tc>{run('inner')}</w:tc></w:tr></w:tbl>"
    body = f"<w:tbl><w:tr><w:tc>{run('a')}</w:tc><w:tc>{run('b')}{inner}</w:tc></w:tr></w:tbl>"
    assert parsed_of(docx(body)).text == "a | b inner"


def test_chapters_come_in_the_order_of_the_spine_and_get_their_titles() -> None:
    ncx = (
        "<ncx><navMap><navPoint><navLabel><text>The first</text></navLabel><content src='c%200.xhtml#x'/></navPoint>"
        "</navMap></ncx>"
    )
    book = epub(
        "<p>One&nbsp;word.<script>no()</script></p><aside>A note.</aside>",
        "<h2>Own title</h2><p>Two.<br/>Lines.</p>",
        metadata="<dc:title>Book</dc:title><dc:language>zh-CN</dc:language><dc:date>2020</dc:date>",
        more={"OPS/toc.ncx": ncx},
    )
    package = '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest>'
    parts = {it: zipfile.ZipFile(io.BytesIO(book)).read(it) for it in zipfile.ZipFile(io.BytesIO(book)).namelist()}
    parts["OPS/p.opf"] = parts["OPS/p.opf"].replace(b"</manifest>", package.encode())
    parsed = parsed_of(archive(parts))
    assert parsed.text == "The first\n\nOne\xa0word.\n\nA note.\n\nOwn title\n\nTwo.\nLines."
    assert (parsed.title, parsed.language, parsed.published) == ("Book", "zh", "2020")
    assert texts(parsed, "heading") == ["The first", "Own title"]


@pytest.mark.parametrize(
    ("data", "media_type", "reason", "says"),
    [
        ((FILES / "report.docx").read_bytes(), EPUB_TYPE, "TYPE_MISMATCH", "a DOCX document"),
        ((FILES / "report.epub").read_bytes(), DOCX_TYPE, "TYPE_MISMATCH", "an EPUB book"),
        ((FILES / "report.epub").read_bytes(), "text/plain", "TYPE_MISMATCH", "an EPUB book"),
        (b"plain words", DOCX_TYPE, "TYPE_MISMATCH", "a DOCX document and is none"),
        (b"plain words", EPUB_TYPE, "TYPE_MISMATCH", "an EPUB book and is none"),
        (b"%PDF-1.4 and so on", "text/csv", "TYPE_MISMATCH", "a PDF"),
        (b"<!DOCTYPE html><p>x", "text/markdown", "TYPE_MISMATCH", "an HTML page"),
        (b"<html><p>x", "text/csv", "TYPE_MISMATCH", "an HTML page"),
        (b"a,b\n1,2\n", "application/jsonl", "TYPE_MISMATCH", "no object"),
        (b'[{"a": 1},\n{"a": 2}]', "application/jsonl", "TYPE_MISMATCH", "one JSON array"),
        (b'{"a": "1"}\n{"a": "2"}\n', "text/csv", "TYPE_MISMATCH", "JSON Lines"),
        (b"\x89PNG\r\n\x1a\n", "text/x-python", "TYPE_MISMATCH", "a PNG image"),
        (archive({"a.txt": "words"}), "", "UNSUPPORTED_TYPE", "a ZIP archive"),
        (archive({"mimetype": "application/vnd.oasis.opendocument.text"}), "", "UNSUPPORTED_TYPE", "OpenDocument"),
        (archive({"[Content_Types].xml": "<x>spreadsheetml</x>"}), "", "UNSUPPORTED_TYPE", "a workbook"),
        (archive({"[Content_Types].xml": "<x>presentationml</x>"}), "", "UNSUPPORTED_TYPE", "a presentation"),
        (OLD_OFFICE + bytes(600), "", "UNSUPPORTED_TYPE", "an old Office document"),
        (OLD_OFFICE + "EncryptedPackage".encode("utf-16-le"), DOCX_TYPE, "ENCRYPTED", "password"),
        (b"{\\rtf1 words}", "", "UNSUPPORTED_TYPE", "an RTF document"),
        (b"words", "image/png", "UNSUPPORTED_TYPE", "image/png"),
    ],
)  # fmt: skip
def test_what_is_declared_must_agree_with_the_bytes(data: bytes, media_type: str, reason: str, says: str) -> None:
    fault = fault_of(data, media_type)
    assert fault.reason == reason
    assert says in fault.message


@pytest.mark.parametrize("name", ["report.docx", "report.epub"])
def test_a_file_that_is_cut_off_or_bent_is_broken_and_no_worse(name: str) -> None:
    whole = (FILES / name).read_bytes()
    for end in range(30, len(whole), 997):
        assert fault_of(whole[:end]).reason in ("BROKEN", "UNSUPPORTED_TYPE")
    for at in range(0, len(whole), 499):
        bent = whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
        with suppress(IngestFault):
            parsed_of(bent)


ENTITIES = "<!DOCTYPE d [" + '<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
) + "]>"  # fmt: skip


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: docx("<w:p/>"), "NO_TEXT"),
        (lambda: docx(""), "NO_TEXT"),
        (lambda: docx("<w:p><w:r>"), "BROKEN"),
        (lambda: docx(run("x" * 70_000_000)), "TOO_LARGE"),
        (lambda: docx(run(" ") * 2_000_000), "TOO_LARGE"),
        (lambda: docx("<w:sdt>" * 5000 + "</w:sdt>" * 5000), "BROKEN"),
        (lambda: archive({"[Content_Types].xml": "wordprocessingml.document.main+xml"}), "BROKEN"),
        (lambda: epub(), "BROKEN"),
        (lambda: epub("<p></p>"), "NO_TEXT"),
        (lambda: epub("<p>" + "x" * 70_000_000), "TOO_LARGE"),
        (lambda: archive({"mimetype": "application/epub+zip"}), "BROKEN"),
        (lambda: epub("<p>x</p>", more=DRM), "ENCRYPTED"),
        (lambda: archive({f"{n}": "" for n in range(21_000)}), "TOO_LARGE"),
        (lambda: archive({"mimetype": "application/epub+zip"})[:-22], "BROKEN"),
    ],
    ids=map(str, range(14)),
)  # fmt: skip
def test_hostile_archives_have_their_own_fault(make: Callable[[], bytes], reason: str) -> None:
    assert fault_of(make()).reason == reason


def test_entities_and_what_lies_outside_are_never_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    outside = f'<!DOCTYPE d [<!ENTITY s SYSTEM "file://{secret}">]>'
    assert "secret" not in parsed_of(docx(run("before &s; after"), outside)).text
    assert fault_of(docx(run("before &i; after"), ENTITIES)).reason == "BROKEN"


def test_an_archive_that_lies_of_its_sizes_inflates_no_more_than_it_may() -> None:
    honest = docx(run("words " * 2000))
    at = honest.index(b"PK\x01\x02")
    while honest[at + 46 : at + 63] != b"word/document.xml":
        at = honest.index(b"PK\x01\x02", at + 4)
    lying = bytearray(honest)
    struct.pack_into("<I", lying, at + 24, 10)
    assert fault_of(bytes(lying)).reason == "BROKEN"


def test_a_part_with_a_password_is_encrypted() -> None:
    data = bytearray(docx(run("words")))
    at = 0
    while (at := data.find(b"PK\x01\x02", at + 1)) > 0:
        data[at + 8] |= 1
    assert fault_of(bytes(data)).reason == "ENCRYPTED"


async def test_a_reader_process_takes_a_directory_without_end() -> None:
    entry = b"PK\x01\x02" + bytes(42)
    data = b"PK\x03\x04" + bytes(26) + entry * 1_000_000
    data += b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry) * 1_000_000, 30, 0)
    reader = ProcessReader(1, 1024, 60)
    with pytest.raises(IngestFault) as caught:
        await reader.read(data, "", "")
    assert caught.value.reason in ("TOO_LARGE", "BROKEN")
    kind, parsed = await reader.read((FILES / "report.docx").read_bytes(), "", "")
    assert kind == "docx"
    assert isinstance(parsed, Parsed) and parsed.title == "A report on tea"
    await reader.close()


PYTHON = '''"""A module."""

import os

def one():
    """First."""

    return 1


class Two:

    def three(self):
        return 3
'''


def test_source_code_is_cut_at_its_definitions() -> None:
    detected, parsed = read(PYTHON.encode(), "", "https://x.org/a.py?raw=1")
    assert isinstance(parsed, Parsed)
    assert detected.source_type == "code"
    assert parsed.metadata == {"programming_language": "python"}
    assert texts(parsed, "code") == [
        '"""A module."""',
        "import os",
        'def one():\n    """First."""\n\n    return 1',
        "class Two:\n\n    def three(self):\n        return 3",
    ]
    upload = Upload(Header("a", "default", uri="https://x.org/src/a.py"), PYTHON.encode())
    assert described(upload, "id", "0" * 64, "code", parsed).title == "a.py"


@pytest.mark.parametrize(
    ("data", "media_type", "name", "kind", "language"),
    [
        (b"fn main() {}\n", "", "src/main.rs", "code", "rust"),
        (b"all:\n\techo\n", "", "Makefile", "code", "make"),
        (b"FROM debian\n", "", "a/Dockerfile", "code", "dockerfile"),
        (b"#!/usr/bin/env -S python3 -u\nprint()\n", "", "", "code", "python"),
        (b"#!/bin/bash\nls\n", "", "run", "code", "shell"),
        (b'{"a": 1}', "", "a.json", "code", "json"),
        (b'{"a": 1}', "application/json", "", "code", ""),
        (b"SELECT 1;", "text/x-sql", "", "code", ""),
        (b"key: value", "", "a.yaml", "code", "yaml"),
        (b"<?xml version='1.0'?><a/>", "application/xml", "", "code", ""),
        (b"# Title\n", "", "README.md", "markdown", None),
        (b"#!not a path", "", "", "text", None),
    ],
)
def test_source_code_is_known(data: bytes, media_type: str, name: str, kind: str, language: str | None) -> None:
    detected, parsed = read(data, media_type, name)
    assert detected.source_type == kind
    assert isinstance(parsed, Parsed)
    assert language is None or parsed.metadata.get("programming_language", "") == language
