"""Text that comes in parts, with its lines broken between words."""

import io

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from cli.terminal.text_flow import TextFlow


def flowed(parts: list[str], width: int, marks: bool = False) -> str:
    out = io.StringIO()
    flow = TextFlow(Console(file=out, force_terminal=True, color_system=None, width=width, soft_wrap=True))
    for part in parts:
        flow.text(part)
        if marks:
            flow.text(" ")
            flow.mark("[1]", "bold")
    flow.end()
    return out.getvalue()


def test_lines_break_between_words_wherever_the_parts_do() -> None:
    assert flowed(["The qu", "ick brown", " fox ju", "mps."], 12) == "The quick\nbrown fox\njumps."


def test_its_own_line_breaks_stay() -> None:
    assert flowed(["a\n\nb  c\n"], 20) == "a\n\nb  c\n"


def test_a_mark_that_does_not_fit_goes_to_the_next_line() -> None:
    assert flowed(["four five"], 11, marks=True) == "four five\n[1]"


def test_chinese_breaks_anywhere_but_before_its_punctuation() -> None:
    assert flowed(["网格回答问题，很快。"], 10) == "网格回答问\n题，很快。"
    assert flowed(["网格回答题，很快。"], 10) == "网格回答\n题，很快。"


def test_a_word_longer_than_the_line_is_not_lost() -> None:
    assert flowed(["see https://example.org/a/long/path now"], 12) == "see\nhttps://example.org/a/long/path now"


@settings(deadline=None)
@given(st.lists(st.text(st.sampled_from("ab 网。é\n"), max_size=12), max_size=8), st.integers(8, 30))
def test_parts_make_no_difference_and_no_letter_is_lost(parts: list[str], width: int) -> None:
    whole = flowed(["".join(parts)], width)
    assert flowed(parts, width) == whole
    assert "".join(whole.split()) == "".join("".join(parts).split())


@settings(deadline=None)
@given(st.lists(st.text("abc", min_size=1, max_size=8), max_size=20), st.integers(8, 30))
def test_no_line_is_wider_than_the_terminal(words: list[str], width: int) -> None:
    assert all(cell_len(line) <= width for line in flowed([" ".join(words)], width).split("\n"))
