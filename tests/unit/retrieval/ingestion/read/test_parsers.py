"""Detection, decoding and the parsers, on real and hostile input."""

import io
import random
from collections.abc import Callable
from pathlib import Path

import pypdfium2
import pytest

from services.retrieval.ingestion.describe import described
from services.retrieval.ingestion.read import front_matter, markdown
from services.retrieval.ingestion.read.detect import detect
from services.retrieval.ingestion.read.document import read
from services.retrieval.ingestion.read.encoding import decode
from services.retrieval.ingestion.read.html import page
from services.retrieval.ingestion.read.parsed import IngestFault, Parsed, paragraphs
from services.retrieval.ingestion.upload import Header, Upload


def texts(parsed: Parsed, kind: str) -> list[str]:
    return [parsed.text[it.start : it.end] for it in parsed.blocks if it.kind == kind]


@pytest.mark.parametrize(
    ("data", "media_type", "name", "expected"),
    [
        (b"# Title\n\ntext", "", "", "markdown"),
        (b"plain words", "", "", "text"),
        (b"plain words", "", "notes.md", "markdown"),
        (b"plain words", "text/plain", "notes.md", "text"),
        (b"plain words", "application/octet-stream", "https://x.org/a/readme.txt?x=1", "text"),
        (b"  <!-- c --><!DOCTYPE html><p>x", "", "", "html"),
        (b"\n<html lang=en><p>x", "", "page.txt", "html"),
        (b"<p>part of a page</p>", "text/html; charset=utf-8", "", "html"),
        (b"junk\n%PDF-1.4", "", "", "pdf"),
        (b"%PDF-1.4", "application/pdf", "", "pdf"),
        ("﻿# 标题".encode(), "TEXT/MARKDOWN", "", "markdown"),
        ("words".encode("utf-16"), "", "", "text"),
    ],
)
def test_types_are_found(data: bytes, media_type: str, name: str, expected: str) -> None:
    assert detect(data, media_type, name).source_type == expected


@pytest.mark.parametrize("seed", range(3))
def test_binary_data_is_no_text(seed: int) -> None:
    with pytest.raises(IngestFault) as caught:
        detect(random.Random(seed).randbytes(5000))
    assert caught.value.reason == "UNSUPPORTED_TYPE"


def test_many_comments_do_not_stall_detection() -> None:
    assert detect(b"<!---->" * 20_000).source_type == "text"


@pytest.mark.parametrize(
    ("data", "charset", "expected"),
    [
        ("grün".encode("utf-8-sig"), "", "grün"),
        ("grün 中文".encode("utf-16"), "", "grün 中文"),
        ("grün".encode("utf-32"), "", "grün"),
        ("中文".encode("gb18030"), "gb18030", "中文"),
        ("日本".encode("shift_jis"), "Shift_JIS", "日本"),
        ("grün".encode("utf-8-sig"), "latin-1", "grün"),
        (b"\xff\xfe", "", ""),
    ],
)
def test_text_is_decoded(data: bytes, charset: str, expected: str) -> None:
    assert decode(data, charset) == expected


@pytest.mark.parametrize(
    ("data", "charset", "place"),
    [
        (b"abc\xff", "", "byte 3"),
        (b"\xef\xbb\xbfab\xc3", "", "byte 5"),
        ("中文".encode()[:-1], "", "byte 3"),
        (b"x", "zip", "zip"),
        (b"x", "rot13", "rot13"),
        (b"x", "no such", "no such"),
    ],
)
def test_what_is_not_text_says_where(data: bytes, charset: str, place: str) -> None:
    with pytest.raises(IngestFault, match=place) as caught:
        decode(data, charset)
    assert caught.value.reason == "INVALID_ENCODING"


def test_front_matter_is_taken_off() -> None:
    source = '---\ntitle: "A: b"\ntags:\n  - x\n  - y\ndate: 2024-05-06\nn: 3\nnested: {a: 1}\n---\n\n# Heading\n'
    parsed = markdown.parse(source)
    assert parsed.title == "A: b"
    assert parsed.text == "\n# Heading\n"
    assert parsed.metadata == {"title": "A: b", "tags": "x, y", "date": "2024-05-06", "n": "3"}
    assert parsed.published == "2024-05-06"


@pytest.mark.parametrize(
    "source",
    [
        "---\n: : :\n\t-\n---\ntext",
        "---\njust words\n---\ntext",
        "---\nno end",
        "--- x\n---\n",
        "text\n---\na: b\n---\n",
    ],
)
def test_what_is_no_front_matter_stays(source: str) -> None:
    assert front_matter.read(source).end == 0
    assert markdown.parse(source).text == source


def test_a_yaml_bomb_is_small() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    entries, _ = front_matter.read("---\n" + "\n".join(lines) + "\n---\n")
    assert entries == {"a0": "x, x"}


def test_markdown_blocks() -> None:
    source = (
        "Title\n=====\n\nPara one\ngoes on\n\n```py\n# no heading\n\n```\n<!-- a\n\ncomment -->\n### Deep ###\n"
        "| a | b |\n|---|:-:|\n| 1 | 2 |\n\n- item\n- item two\n\nSub\n---\n~~~\nnever closed"
    )
    parsed = markdown.parse(source)
    assert texts(parsed, "heading") == ["Title\n=====", "### Deep ###", "Sub\n---"]
    assert [it.level for it in parsed.blocks if it.kind == "heading"] == [1, 3, 2]
    assert texts(parsed, "code") == ["```py\n# no heading\n\n```", "~~~\nnever closed"]
    assert texts(parsed, "table") == ["| a | b |\n|---|:-:|\n| 1 | 2 |"]
    assert texts(parsed, "comment") == ["<!-- a\n\ncomment -->"]
    assert texts(parsed, "paragraph") == ["Para one\ngoes on", "- item\n- item two"]
    assert parsed.title == "Title"


PAGE = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html><html lang="en-GB"><head><title> The  page </title><link rel="canonical" href="https://x.org/p">
<meta property="article:published_time" content="2023-02-01T10:00:00Z"><style>p{}</style></head><body>
<nav><a href=/>Home</a></nav><header class="site-header"><ul><li><a href=/a>Menu entry</a></ul></header>
<main><h1>Real <em>title</em></h1><p>First   paragraph with <a href=x>a link</a>.<br>Second line &amp; more.
<h2>Code</h2><pre>def f():
    return  1
</pre><ul><li>one<li>two</ul><table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td><p>b</p></td></tr></table>
<p hidden>unseen</p><script>alert("no")</script><p>{filler}</p></main><footer>Imprint</footer></body></html>"""


def test_html_gives_its_main_content() -> None:
    parsed = page.parse(PAGE.replace("{filler}", "Some more words to read. " * 10))
    assert parsed.title == "The page"
    assert parsed.language == "en"
    assert parsed.published == "2023-02-01T10:00:00Z"
    assert parsed.metadata["canonical_url"] == "https://x.org/p"
    assert texts(parsed, "heading") == ["Real title", "Code"]
    assert texts(parsed, "code") == ["def f():\n    return  1"]
    assert texts(parsed, "table") == ["k | v\na | b"]
    assert texts(parsed, "paragraph")[0] == "First paragraph with a link.\nSecond line & more."
    for word in ("Home", "Menu", "Imprint", "unseen", "alert", "p{}"):
        assert word not in parsed.text


def test_a_page_without_main_loses_its_navigation() -> None:
    links = "".join(f"<li><a href=/{n}>Entry number {n}</a>" for n in range(20))
    body = "".join(f"<p>Paragraph {n} has enough words to be worth reading, and then some.</p>" for n in range(8))
    parsed = page.parse(f"<body><ul>{links}</ul><div id=sidebar>Side</div><div>{body}</div></body>")
    assert "Entry number" not in parsed.text
    assert "Side" not in parsed.text
    assert parsed.text.count("Paragraph") == 8


@pytest.mark.parametrize(
    "source",
    [
        "<",
        "<div>" * 100_000,
        "<p>" + "x" * 1_000_000,
        "&#0;&#xD800;a",
        "<table><table><table><td>a",
        "<h1><pre><table><tr>a",
        "<html></html>",
        "<!DOCTYPE html>",
        "a\x00b<p>c",
        "</p></div>text",
    ],
    ids=range(10),
)
def test_broken_html_does_no_harm(source: str) -> None:
    parsed = page.parse(source)
    parsed.text.encode()
    assert all(0 <= it.start < it.end <= len(parsed.text) for it in parsed.blocks)


def test_html_in_gbk() -> None:
    page = '<html><head><meta charset="gbk"><title>题目</title></head><body><p>正文在这里</p></body></html>'
    detected, parsed = read(page.encode("gbk"))
    assert detected.source_type == "html"
    assert (parsed.title, parsed.text) == ("题目", "正文在这里")


def test_line_ends_are_one_kind() -> None:
    _, parsed = read(b"a\r\nb\rc\n", "text/plain")
    assert parsed.text == "a\nb\nc\n"


def test_a_pdf_without_text_and_one_that_is_broken() -> None:
    document = pypdfium2.PdfDocument.new()
    document.new_page(100, 100)
    data = io.BytesIO()
    document.save(data)
    for broken, reason in ((data.getvalue(), "NO_TEXT"), (data.getvalue()[:60], "BROKEN"), (b"%PDF-", "BROKEN")):
        with pytest.raises(IngestFault) as caught:
            read(broken)
        assert caught.value.reason == reason


def pdf(pages: list[str], trailer: bytes = b"", info: bytes = b"") -> bytes:
    """A small PDF, written by hand: one line of text a page."""
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b""]
    kids = []
    for words in pages:
        stream = f"BT /F1 12 Tf 20 100 Td ({words}) Tj ET".encode("latin-1")
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
        font = b"<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
        kids.append(len(objects) + 1)
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents %d 0 R/Resources%s>>" % (len(objects), font)
        )
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), b" ".join(b"%d 0 R" % kid for kid in kids))
    if info:
        objects.append(b"<<%s>>" % info)
        trailer += b"/Info %d 0 R" % len(objects)
    data = b"%PDF-1.4\n"
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    tail = b"trailer<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, trailer, len(data))
    return data + b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table) + tail


def test_a_pdf_with_a_password_is_refused() -> None:
    secret = b"<" + b"5a" * 32 + b">"
    encrypted = b"/Encrypt<</Filter/Standard/V 1/R 2/O%s/U%s/P -4>>/ID[<00><00>]" % (secret, secret)
    with pytest.raises(IngestFault) as caught:
        read(pdf(["Secret words"], encrypted))
    assert caught.value.reason == "ENCRYPTED"


def test_pdf_pages() -> None:
    detected, parsed = read(pdf(["First page here", "", "Third page here"]))
    assert detected.source_type == "pdf"
    assert parsed.text == "First page here\n\n\n\nThird page here"
    assert parsed.pages == (0, 17, 19)
    assert [parsed.text[it.start : it.end] for it in parsed.blocks] == ["First page here", "Third page here"]


def two_columns(line: Callable[[int, str], str], lines: int = 20, heading: str = "") -> bytes:
    """A page of two columns, written line by line across both."""
    words = [f"({heading}) Tj"] if heading else []
    for number in range(lines):
        words += [
            f"1 0 0 1 {x} {170 - 8 * number} Tm ({line(number, side)}) Tj" for x, side in ((20, "left"), (160, "right"))
        ]
    return pdf([") Tj /F1 6 Tf 1 0 0 1 100 190 Tm " + " ".join(words) + " ("])


def test_columns_that_were_written_across_are_read_one_after_the_other() -> None:
    _, parsed = read(
        two_columns(
            lambda n, side: f"The {side} column says in its line {n:02}", heading="A heading across both of the columns"
        )
    )
    lines = parsed.text.split("\n")
    assert lines[0] == "A heading across both of the columns"
    assert lines[1:] == [f"The {side} column says in its line {n:02}" for side in ("left", "right") for n in range(20)]


def test_a_table_is_read_row_by_row() -> None:
    _, parsed = read(two_columns(lambda n, side: "one" if n % 3 else "a cell of some more words"))
    assert parsed.text.split("\n")[0] == "a cell of some more words a cell of some more words"


SAMPLES = Path("../shared/data/pdf-samples")


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample PDFs are not here")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pp_crazyones-encrypted-256", "ENCRYPTED"),
        ("pp_encrypted-file", "ENCRYPTED"),
        ("pp_r6-user-password", "ENCRYPTED"),
        ("sf_libreoffice-writer-password", "ENCRYPTED"),
        ("pp_encrypted_doc_no_id", "NO_TEXT"),
        ("sf_grayscale-image", "NO_TEXT"),
        ("sf_unreadablemetadata", "BROKEN"),
    ],
)
def test_sample_pdfs_that_hold_no_text_to_read(name: str, reason: str) -> None:
    with pytest.raises(IngestFault) as caught:
        read((SAMPLES / f"{name}.pdf").read_bytes())
    assert caught.value.reason == reason


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample PDFs are not here")
@pytest.mark.parametrize(
    ("name", "pages", "in_order"),
    [
        ("qed_TACL-2col", 17, ("Department of Linguistics", "Abstract", "neural QA baseline", "1 Introduction")),
        ("sf_multicolumn", 3, ("Abstract", "Nam dui ligula", "Nulla malesuada", "Quisque ullamcorper")),
        ("pp_indirect-rotation", 5, ("International Council", "Ninth Revised")),
        ("pp_multilang", 1, ("Hello World", "مرحبا بالعالم", "Привет", "你好世界", "สวัสดีชาวโลก", "こんにちは世界")),
        ("pp_r3-empty-password", 1, ("pdf encryption test",)),
        ("pp_missing_info", 1, ("PDF document without",)),
        ("sf_with-attachment", 1, ("Lorem ipsum",)),
        ("sf_habibi-rotated", 4, ("habibi",)),
    ],
)
def test_sample_pdfs_are_read_in_order(name: str, pages: int, in_order: tuple[str, ...]) -> None:
    _, parsed = read((SAMPLES / f"{name}.pdf").read_bytes())
    assert len(parsed.pages) == pages
    at = [parsed.text.find(words) for words in in_order]
    assert -1 not in at
    assert at == sorted(at)


@pytest.mark.parametrize(
    ("title", "useful"),
    [
        ("Real words", True),
        ("report.docx", False),
        ("Microsoft Word - x", False),
        ("untitled", False),
        ("a\ufffd", False),
    ],
)
def test_titles_of_pdfs_that_say_nothing_are_left_out(title: str, useful: bool) -> None:
    words = title.encode("utf-16-be").hex()
    dated = b"/Author(Ann Lee)/CreationDate(D:20190102030405+01'00')/Title<feff%s>" % words.encode()
    _, parsed = read(pdf(["Some text"], info=dated))
    assert (parsed.title, parsed.published) == (title if useful else "", "2019-01-02")
    assert parsed.metadata == {"author": "Ann Lee"}


def test_a_page_says_where_it_is_and_when_it_was_published() -> None:
    head = (
        '<link rel="canonical" href="/relative"><meta property="og:url" content="https://x.org/p?a=1&amp;b=2">'
        '<script type="application/ld+json">{"@graph": [{"@type": "Page"}, {"datePublished": "2021-05-06"}]}</script>'
        '<script type="application/ld+json">{broken</script><time datetime="2000-01-01" pubdate>then</time>'
    )
    parsed = page.parse(f"<html><head>{head}</head><body><p>Words.</p></body></html>")
    assert (parsed.uri, parsed.published) == ("https://x.org/p?a=1&b=2", "2021-05-06")
    info = described(Upload(Header("a", "default"), b"x"), "id", "0" * 64, "html", parsed)
    assert (info.uri, info.published_at and info.published_at.year) == ("https://x.org/p?a=1&b=2", 2021)
    sent = described(Upload(Header("a", "default", uri="https://mine"), b"x"), "id", "0" * 64, "html", parsed)
    assert sent.uri == "https://mine"


@pytest.mark.parametrize(
    "script", ["[" * 100_000, '{"a":' * 10_000 + "1", '{"datePublished": {"x": 1}}', "[1, 2, null]", ""]
)
def test_hostile_descriptions_of_pages_say_nothing(script: str) -> None:
    parsed = page.parse(f'<script type="application/ld+json">{script}</script><p>Words.</p>')
    assert (parsed.text, parsed.published) == ("Words.", "")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", []),
        (" \n\t\n ", []),
        ("\n\n a b \nc\n \n\n  d\n", ["a b \nc", "d"]),
        ("a\n\n\n\nb", ["a", "b"]),
        ("a\n \nb\n\t", ["a", "b"]),
    ],
)
def test_paragraphs_are_apart_by_empty_lines(source: str, expected: list[str]) -> None:
    assert [source[it.start : it.end] for it in paragraphs(source)] == expected
