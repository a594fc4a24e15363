"""Right-to-left text of PDFs comes out as it is read, however the file was written."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from unicodedata import normalize

import pytest

from services.retrieval.ingestion.read.pdf import document
from services.retrieval.ingestion.read.pdf.direction import Glyph, holds_right_to_left, in_reading_order

from .test_parsers import SAMPLES

PRINTED = Path(__file__).parent / "files" / "right_to_left.pdf"  # printed by Chromium, in DejaVu Sans
LINES = [
    "مقدمة إلى علم الفلك",
    "بدأ علم الفلك في عام 1609 عندما استخدم غاليليو (Galileo Galilei) التلسكوب.",
    'بلغت نسبة الخطأ 12.5% تقريبا، قال: "حَبيبي" ثم مضى [3].',
    "السَّلامُ عَلَيْكُم، الهاتف: ٠١٢٣-٤٥٦٧ أو 555-1234.",
    'בתאריך 2020-01-15 נמכרו 30% מהמניות (כ-1,250 ש"ח) ל-Google Inc. בלבד.',
    "בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם",
    "CiteMesh הוא שרת gRPC 😀",
    "The Hebrew word שלום means hello, and مرحبا بالعالم hello world.",
    "English only, with 12 (twelve) words.",
]


def test_a_page_that_a_browser_printed() -> None:
    parsed = document.parse(PRINTED.read_bytes())
    assert [normalize("NFC", line) for line in parsed.text.split("\n")] == [normalize("NFC", it) for it in LINES]
    assert parsed.pages == (0,)
    assert [(it.start, it.end) for it in parsed.blocks] == [(0, len(parsed.text))]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample PDFs are not here")
@pytest.mark.parametrize(("name", "pages"), [("sf_habibi", 1), ("sf_habibi-rotated", 4)])
def test_text_that_the_file_gives_beside_its_glyphs_is_not_turned(name: str, pages: int) -> None:
    parsed = document.parse((SAMPLES / f"{name}.pdf").read_bytes())
    assert parsed.text.count("حَبيبي") == 2 * pages
    assert parsed.text.count("habibi") == pages
    assert "يبيب" not in parsed.text
    assert len(parsed.pages) == pages


def written(strokes: Sequence[tuple[float, float, str, bool]]) -> bytes:
    """A PDF of glyphs: x and y, what one means, whether that is told beside it or by its font."""
    letters = sorted({letter for _, _, text, _ in strokes for letter in text})
    code = {letter: at + 1 for at, letter in enumerate(letters)}
    drawn = []
    for x, y, text, beside in strokes:
        glyphs = "".join(f"{1 if beside else code[letter]:02x}" for letter in text)
        said = f"/Span<</ActualText<feff{text.encode('utf-16-be').hex()}>>>BDC " if beside else ""
        drawn.append(f"{said}BT /F1 10 Tf 1 0 0 1 {x} {y} Tm <{glyphs}> Tj ET{' EMC' if beside else ''}")
    rows = "".join(f"<{number:02x}><{letter.encode('utf-16-be').hex()}>" for letter, number in code.items())
    font = (
        "<</Type/Font/Subtype/Type3/FontBBox[0 -200 500 800]/FontMatrix[.001 0 0 .001 0 0]/CharProcs<</g 6 0 R>>"
        f"/Encoding<</Differences[1{'/g' * len(code)}]>>/FirstChar 1/LastChar {len(code)}"
        f"/Widths[{' 500' * len(code)}]/Resources<<>>/ToUnicode 7 0 R>>"
    )
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Count 1/Kids[3 0 R]>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 600]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        stream("\n".join(drawn)),
        font,
        stream("500 0 20 0 480 700 d1 20 0 460 700 re f"),
        stream(f"1 begincodespacerange<00><ff>endcodespacerange {len(code)} beginbfchar{rows}endbfchar"),
    ]
    body = "".join(f"{number} 0 obj{content}\nendobj\n" for number, content in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer<</Size 8/Root 1 0 R>>\n%%EOF".encode()


def stream(content: str) -> str:
    return f"<</Length {len(content)}>>stream\n{content}\nendstream"


SENTENCE = "שלום 123 עולם Big City טוב"
SEEN = "בוט Big City םלוע 123 םולש"
STEP = 5.0


def from_the_left(seen: str, y: float = 300) -> list[tuple[float, float, str, bool]]:
    """All glyphs in one go, as most programs write."""
    return [(50.0, y, seen, False)]


def in_order_of_reading(seen: str, order: Sequence[int], y: float = 300) -> list[tuple[float, float, str, bool]]:
    """Each glyph by itself, in the order in which they are read."""
    return [(50 + STEP * at, y, seen[at], False) for at in order]


def each_told_beside(seen: str, y: float = 300) -> list[tuple[float, float, str, bool]]:
    return [(50 + STEP * at, y, letter, True) for at, letter in enumerate(seen) if letter != " "]


def order_of(text: str, seen: str) -> list[int]:
    """Where each character of the text stands; words in both are found whole or turned."""
    places: list[int] = []
    for word in text.split():
        turned = word if word.isascii() else word[::-1]
        at = seen.index(turned)
        run = list(range(at, at + len(word)))
        places += run if word.isascii() else run[::-1]
    return places


@pytest.mark.parametrize(
    "strokes",
    [from_the_left(SEEN), in_order_of_reading(SEEN, order_of(SENTENCE, SEEN)), each_told_beside(SEEN)],
    ids=["from the left", "in the order of reading", "told beside the glyphs"],
)
def test_a_line_reads_the_same_however_it_was_written(strokes: list[tuple[float, float, str, bool]]) -> None:
    parsed = document.parse(written(strokes))
    assert parsed.text == SENTENCE


def test_lines_stay_apart_and_others_are_left_alone() -> None:
    strokes = [*from_the_left("One line, (left) alone", 340), *from_the_left(SEEN, 320), *from_the_left("םולש", 300)]
    parsed = document.parse(written(strokes))
    assert parsed.text == f"One line, (left) alone\n{SENTENCE}\nשלום"


def test_letters_that_are_written_by_their_shape_become_letters() -> None:
    parsed = document.parse(written(from_the_left("ﻡﻼﺳ")))
    assert parsed.text == "سلام"


def placed(seen: str, y: float = 0.0) -> Iterator[Glyph]:
    """Glyphs side by side."""
    for at, text in enumerate(seen):
        yield Glyph(text, STEP * at, STEP * (at + 1), y - 2, y + 8, STEP * at, y)


@pytest.mark.parametrize(
    ("seen", "read_as"),
    [
        ("(הרעה) 12", "12 (הערה)"),
        (")הרעה( 12", "12 (הערה)"),
        ("15-01-2020 םוי", "יום 15-01-2020"),
        ("01-2020 موي", "يوم 2020-01"),
        ("%12.5 ةبسن", "نسبة 12.5%"),
        ("30% ךרע", "ערך 30%"),
        ("In (the word םולש) now", "In (the word שלום) now"),
        ("f(x) = 1", "f(x) = 1"),
        ("(: םולש", "שלום :("),
        ("םולש", "שלום"),
    ],
)
def test_numbers_and_brackets_stand_where_they_are_read(seen: str, read_as: str) -> None:
    assert in_reading_order(placed(seen)) == read_as


@pytest.mark.parametrize("text", ["", "plain", "Привет 你好 สวัสดี", "café (naïve)", "\U0001f600"])
def test_other_scripts_need_no_second_look(text: str) -> None:
    assert not holds_right_to_left(text)


def test_nothing_and_marks_alone_are_no_trouble() -> None:
    assert in_reading_order([]) == ""
    assert in_reading_order([Glyph("\u05b0", 1, 1, 0, 0, 1, 0)]) == ""
