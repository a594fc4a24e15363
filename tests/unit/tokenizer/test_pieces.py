"""Pieces: exact spans, nothing lost, always an end."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.tokenizer.engines.fake import FakeTokenizer
from services.tokenizer.pieces import Piece, in_order, split

TEXTS = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from(" \n\n\t.。!？👩‍👩‍👧é你好\u0301\u200d\u200b")), max_size=300
)


def spans_of(text: str) -> list[tuple[int, int]]:
    (tokens,) = FakeTokenizer().encode([text], with_spans=True)
    return tokens.spans


def pieces_of(text: str, max_tokens: int, overlap: int = 0) -> list[str]:
    return [text[p.start : p.end] for p in split(text, spans_of(text), max_tokens, overlap)]


def uncovered(text: str, pieces: list[Piece]) -> list[int]:
    covered = {place for piece in pieces for place in range(piece.start, piece.end)}
    return [place for place, character in enumerate(text) if not character.isspace() and place not in covered]


@given(TEXTS, st.integers(8, 40), st.floats(0, 0.5))
@settings(max_examples=300, deadline=None)
def test_every_visible_character_is_in_a_piece_and_pieces_advance(text: str, max_tokens: int, share: float) -> None:
    text = text.encode("utf-8", "ignore").decode()
    pieces = split(text, spans_of(text), max_tokens, int(max_tokens * share))
    assert uncovered(text, pieces) == []
    for before, after in itertools.pairwise(pieces):
        assert before.start < after.start
        assert before.end < after.end
    for piece in pieces:
        part = text[piece.start : piece.end]
        assert part == part.strip() or part.strip() == ""
        assert len(part.encode()) <= max_tokens


@given(TEXTS, st.integers(8, 40))
@settings(max_examples=100, deadline=None)
def test_without_overlap_pieces_do_not_touch(text: str, max_tokens: int) -> None:
    text = text.encode("utf-8", "ignore").decode()
    pieces = split(text, spans_of(text), max_tokens, 0)
    assert all(before.end <= after.start for before, after in itertools.pairwise(pieces))


def test_paragraphs_before_sentences_before_words() -> None:
    assert pieces_of("One two. Three\n\nfour five six", 24) == ["One two. Three", "four five six"]
    assert pieces_of("One two three. Four five six seven", 24) == ["One two three.", "Four five six seven"]
    assert pieces_of("one two three four five six", 12) == ["one two", "three four", "five six"]


def test_chinese_without_line_ends_is_cut_after_sentences() -> None:
    text = "天空是蓝色的。草是绿色的。水是透明的。" * 20
    pieces = pieces_of(text, 63)
    assert "".join(pieces) == text
    assert all(piece.endswith("。") for piece in pieces)


@pytest.mark.slow
def test_a_word_of_two_million_letters_comes_to_an_end() -> None:
    word = "x" * 2_000_000
    spans = list(zip(range(len(word)), range(1, len(word) + 1), strict=True))
    pieces = split(word, spans, 512, 64)
    assert uncovered_ends(pieces) == (0, len(word))
    assert len(pieces) < 2_000_000 / 256


def uncovered_ends(pieces: list[Piece]) -> tuple[int, int]:
    assert all(after.start <= before.end for before, after in itertools.pairwise(pieces))
    return pieces[0].start, pieces[-1].end


@pytest.mark.slow
def test_a_million_line_ends_make_no_piece_and_cost_no_square() -> None:
    text = "a" + "\n" * 1_000_000 + "b"
    spans = list(zip(range(len(text)), range(1, len(text) + 1), strict=True))
    assert [text[p.start : p.end] for p in split(text, spans, 64, 8)] == ["a", "b"]


@pytest.mark.parametrize("family", ["👩‍👩‍👧", "e\u0301\u0302", "👍🏽"])
def test_what_is_one_character_for_the_eye_stays_whole(family: str) -> None:
    size = len(family.encode())
    assert set(pieces_of(family * 30, max(8, size + 3))) == {family}


def test_a_joined_emoji_longer_than_a_piece_is_cut_between_its_characters() -> None:
    pieces = pieces_of("👩‍👩‍👧‍👦", 8)
    assert "".join(pieces) == "👩‍👩‍👧‍👦"
    assert all(len(piece.encode()) <= 8 for piece in pieces)


def test_a_mark_bomb_comes_to_an_end() -> None:
    text = "e" + "\u0301" * 5000
    assert "".join(pieces_of(text, 8)) == text


def test_characters_without_tokens_are_kept() -> None:
    text = "\u200b\u200babc\u200b"
    assert split(text, [(2, 3), (3, 4), (4, 5)], 8, 0) == [Piece(0, 6)]
    assert split("\u200b", [], 8, 0) == [Piece(0, 1)]


def test_a_character_of_many_tokens_is_a_piece_of_its_own() -> None:
    text = "ab\ufdfacd"
    spans = [(0, 1), (1, 2), *[(2, 3)] * 12, (3, 4), (4, 5)]
    pieces = split(text, spans, 8, 0)
    assert uncovered(text, pieces) == []
    assert len(pieces) == 3


def test_empty_and_blank_texts_have_no_pieces() -> None:
    assert split("", [], 8, 0) == []
    assert split(" \n\t", [(0, 3)], 8, 0) == []


def test_overlap_starts_at_a_word() -> None:
    pieces = pieces_of("alpha beta gamma delta epsilon zeta", 18, 8)
    assert pieces[0] == "alpha beta gamma"
    assert pieces[1].startswith("gamma")


def test_pieces_within_others_are_dropped() -> None:
    assert in_order([Piece(5, 9), Piece(0, 4), Piece(6, 8), Piece(0, 2)]) == [Piece(0, 4), Piece(5, 9)]
