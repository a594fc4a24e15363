"""Cutting: spans are exact, sizes hold, every text advances, and time is linear."""

import time
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citemesh.text.sentence_marks import rough_sentences
from services.retrieval.embedding.fake import FakeEncoder
from services.retrieval.ingestion.chunk.chunker import ChunkSize, chunk
from services.retrieval.ingestion.chunk.cutting import by_size
from services.retrieval.ingestion.chunk.pieces import means, pieces, whole
from services.retrieval.ingestion.read import markdown, text
from services.retrieval.ingestion.read.parsed import Parsed, clean

COUNTER = FakeEncoder()
SIZE = ChunkSize(32, 8)
ODD = st.sampled_from(
    [
        "\r\n",
        "\n\n",
        "# A\n",
        "## B\n",
        "```\ncode\n```\n",
        "| a | b |\n|---|---|\n| c | d |\n",
        "---\n",
        "。",
        "👨‍👩‍👧",
        "🇨🇳",
        "e\u0301",
        "שלום",
        "中文没有空格",
        "word " * 9,
        "\x00",
        "\u2028",
        " ",
        "\t",
        "- item\n",
        "<!-- x -->\n",
        "\ud800",
    ]
)
TEXTS = st.lists(st.one_of(ODD, st.text(max_size=20)), max_size=40).map("".join)


def check(parsed: Parsed, size: ChunkSize = SIZE) -> list[str]:
    """Checks what holds for every text; returns the chunks' texts."""
    places = chunk(parsed, COUNTER, size)
    pieces = [parsed.text[place.start : place.end] for place in places]
    assert all(piece and piece == piece.strip() for piece in pieces)
    assert all(tokens <= size.tokens for tokens in COUNTER.count(pieces))
    starts = [place.start for place in places]
    ends = [place.end for place in places]
    assert starts == sorted(set(starts)) or all(a <= b for a, b in pairwise(starts))
    assert ends == sorted(set(ends)), "each chunk ends later than the one before"
    return pieces


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_every_character_but_comments_and_space_is_in_a_chunk(source: str) -> None:
    for parsed in (text.parse(clean(source)), markdown.parse(clean(source))):
        check(parsed)
        covered = bytearray(len(parsed.text))
        for place in chunk(parsed, COUNTER, SIZE):
            covered[place.start : place.end] = b"\x01" * (place.end - place.start)
        for block in parsed.blocks:
            if block.kind == "comment":
                continue
            missing = [at for at in range(block.start, block.end) if not covered[at] and not parsed.text[at].isspace()]
            assert not missing


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.integers(1, 50))
def test_by_size_covers_and_advances(source: str, most: int) -> None:
    spans = list(by_size(source, 0, len(source), most))
    assert "".join(source[start:end] for start, end in spans) == source
    assert all(end - start <= most for start, end in spans)
    assert all(start < end for start, end in spans) or not source


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_sentences_cover(source: str) -> None:
    assert "".join(source[start:end] for start, end in rough_sentences(source, 0, len(source))) == source


@pytest.mark.parametrize(
    "source",
    [
        "x" * 2_000_000,
        "今天天气很好我们去公园玩" * 40_000,
        "👨‍👩‍👧‍👦👍🏽🇨🇳" * 20_000,
        "e\u0301" * 200_000,
        "שלום" * 100_000,
        "\n" * 300_000 + "a",
        "# a\n" * 40_000,
        "| a |\n" * 50_000,
        "a. " * 200_000,
        "." * 400_000,
    ],
    ids=[
        "one word",
        "chinese",
        "emoji",
        "accents",
        "hebrew",
        "newlines",
        "headings",
        "table rows",
        "sentences",
        "dots",
    ],
)
@pytest.mark.slow
def test_large_and_hostile_texts_are_cut_in_linear_time(source: str) -> None:
    pieces = check(markdown.parse(source), ChunkSize(256, 32))
    assert pieces

    def seconds(part: str) -> float:
        started = time.thread_time()
        chunk(markdown.parse(part), COUNTER, ChunkSize(256, 32))
        return time.thread_time() - started

    quarter = min(seconds(source[: len(source) // 4]) for _ in range(2))
    assert seconds(source) < 12 * quarter + 0.2


def test_chinese_is_cut_at_its_sentences() -> None:
    source = "第一句话说了一些事情。" * 3 + "“第二句话？”" + "第三句话！" * 5
    pieces = check(text.parse(source))
    assert all(piece[-1] in "。！？”" for piece in pieces)


def test_a_code_fence_and_a_table_stay_whole_where_they_fit() -> None:
    code = "```python\ndef f():\n\n    return 1\n```"
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    source = f"# Title\n\n{'Words come first here. ' * 4}\n\n{code}\n\n{'More of them. ' * 5}\n\n{table}\n"
    pieces = check(markdown.parse(source), ChunkSize(40, 0))
    assert any(code in piece for piece in pieces)
    assert any(table in piece for piece in pieces)


def test_headings_make_a_path_and_a_chunk_starts_with_one() -> None:
    source = "# One\n\n" + "a b c. " * 10 + "\n\n## Two\n\n" + "d e f. " * 10 + "\n\n# Three\n\n" + "g h i. " * 10
    parsed = markdown.parse(source)
    places = chunk(parsed, COUNTER, ChunkSize(64, 8))
    found = {place.headings for place in places}
    assert found == {("One",), ("One", "Two"), ("Three",)}
    two = next(place for place in places if place.headings == ("One", "Two"))
    assert parsed.text[two.start :].startswith("## Two")


def test_overlap_repeats_the_last_sentence() -> None:
    source = " ".join(f"Sentence number {n} here." for n in range(20))
    places = chunk(text.parse(source), COUNTER, SIZE)
    assert len(places) > 3
    assert all(later.start < earlier.end for earlier, later in pairwise(places))
    apart = chunk(text.parse(source), COUNTER, ChunkSize(32, 0))
    assert all(later.start >= earlier.end for earlier, later in pairwise(apart))


def test_a_chunk_never_crosses_a_page() -> None:
    first = text.parse("One page of words. " * 5)
    pages = (0, len(first.text) + 2)
    whole = first.text + "\n\n" + first.text
    blocks = (*first.blocks, *(type(it)(it.start + pages[1], it.end + pages[1]) for it in first.blocks))
    places = chunk(Parsed(whole, blocks, pages=pages), COUNTER, SIZE)
    assert {place.page for place in places} == {1, 2}
    assert all((place.page == 1) == (place.end <= pages[1]) for place in places)


WINDOW = ChunkSize(64, 16, sliding=True)


@settings(max_examples=50, deadline=None)
@given(TEXTS, st.integers(1, 80), st.integers(0, 60))
def test_windows_cover_every_text_and_advance(source: str, tokens: int, overlap: int) -> None:
    size = ChunkSize(tokens, min(overlap, tokens * 3 // 4), sliding=True)
    for parsed in (text.parse(clean(source)), markdown.parse(clean(source))):
        places = chunk(parsed, COUNTER, size)
        check(parsed, size)
        covered = bytearray(len(parsed.text))
        for place in places:
            covered[place.start : place.end] = b"\x01" * (place.end - place.start)
        for block in parsed.blocks:
            part = range(block.start, block.end if block.kind != "comment" else block.start)
            assert not [at for at in part if not covered[at] and not parsed.text[at].isspace()]


def test_windows_are_full_and_share_about_a_quarter() -> None:
    source = "\n\n".join(f"# Heading {n}\n\nSentence number {n} is here. And one more of {n}." for n in range(300))
    parsed = markdown.parse(source)
    places = chunk(parsed, COUNTER, WINDOW)
    counts = COUNTER.count([parsed.text[it.start : it.end] for it in places])
    assert all(WINDOW.tokens * 0.75 <= count <= WINDOW.tokens for count in counts[:-1])
    shared = [
        COUNTER.count([parsed.text[later.start : earlier.end]])[0] if later.start < earlier.end else 0
        for earlier, later in pairwise(places)
    ]
    assert all(0 < tokens <= WINDOW.overlap for tokens in shared)


@pytest.mark.parametrize(
    "source", ["x" * 2_000_000, "今天天气很好我们去公园玩" * 40_000, "👨‍👩‍👧‍👦" * 30_000, "e\u0301" * 200_000]
)
def test_windows_over_texts_without_a_place_to_cut(source: str) -> None:
    size = ChunkSize(8192, 2048, sliding=True)
    parsed = text.parse(source)
    places = chunk(parsed, COUNTER, size)
    check(parsed, size)
    assert all(later.start < earlier.end for earlier, later in pairwise(places))
    assert (places[0].start, places[-1].end) == (0, len(source))


def test_a_long_text_is_embedded_piece_by_piece() -> None:
    long = "apple " * 500 + "banana " * 500
    cut = pieces(["short", long, ""], COUNTER, 100)
    assert cut.counts[0] == cut.counts[2] == 1
    assert cut.counts[1] >= 10
    assert all(count <= 100 for count in COUNTER.count(cut.texts))
    assert "".join(cut.texts[1:-1]).replace(" ", "") == long.replace(" ", "")
    vectors = COUNTER.embed(COUNTER.ids(cut.texts, "passage"))
    found = means(vectors, cut)
    assert found.shape == (3, vectors.shape[1])
    assert np.allclose(np.linalg.norm(found, axis=1), 1)
    assert np.allclose(found[[0, 2]], vectors[[0, -1]])
    last = COUNTER.embed(COUNTER.ids(["banana"], "query"))[0]
    assert found[1] @ last > vectors[1] @ last + 0.3, "its end counts as well"
    assert means(vectors, whole(cut.texts)) is vectors


def test_words_that_the_tokenizer_takes_for_nothing_do_not_make_endless_chunks() -> None:
    class Blind(FakeEncoder):
        def count(self, texts: Sequence[str]) -> list[int]:
            return [1 for _ in texts]

    places = chunk(text.parse("x" * 2_000_000), Blind(), ChunkSize(256, 32))
    assert max(it.end - it.start for it in places) <= 256 * 16
    assert (places[0].start, places[-1].end) == (0, 2_000_000)


def test_a_size_keeps_within_what_a_model_reads() -> None:
    assert ChunkSize(416, 32).within(416) == ChunkSize(416, 32)
    assert ChunkSize(416, 200).within(163) == ChunkSize(163, 81)
    windows = ChunkSize(8192, 2048, sliding=True, read_at_once=416)
    assert windows.within(163) == ChunkSize(8192, 2048, sliding=True, read_at_once=163)
