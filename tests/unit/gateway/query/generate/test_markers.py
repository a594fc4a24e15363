"""Markers are taken out of a stream wherever it is cut, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.query.generate.markers import Cleaned, MarkerFilter, unmarked
from tests.unit.text.test_sentences import CUTS, parts

TEXT = st.text(alphabet=st.sampled_from("a []1,7【】` \n中Source-"), max_size=60)


def cleaned(deltas: list[str]) -> tuple[str, list[tuple[int, int]]]:
    marker_filter = MarkerFilter()
    found: list[Cleaned] = [marker_filter.feed(delta) for delta in deltas] + [marker_filter.close()]
    return "".join(one.text for one in found), [(h.position, h.number) for one in found for h in one.hints]


@given(TEXT, CUTS)
def test_deltas_do_not_matter(text: str, cuts: list[int]) -> None:
    assert cleaned(parts(text, cuts)) == cleaned([text])


@given(st.text(alphabet="abc .,。中é😀", max_size=60), CUTS)
def test_text_without_markers_stays(text: str, cuts: list[int]) -> None:
    assert cleaned(parts(text, cuts))[0] == text.strip()


@pytest.mark.parametrize(
    ("text", "expected", "hints"),
    [
        ("It runs [2].", "It runs.", [(7, 2)]),
        ("It runs [1][3]. Next [4]", "It runs. Next", [(7, 1), (7, 3), (13, 4)]),
        ("It runs. [1, 2] Next", "It runs. Next", [(8, 1), (8, 2)]),
        ("压力为40巴【2】。", "压力为40巴。", [(6, 2)]),
        ("[1] The pump", "The pump", [(0, 1)]),
        ("as [Source 3] says", "as says", [(2, 3)]),
        ("see [link](x) and [a1]", "see [link](x) and [a1]", []),
        ("`a[1]` is code [1]", "`a[1]` is code", [(14, 1)]),
        ("open [1", "open [1", []),
        ("[12345]", "[12345]", []),
        ("  \n lead", "lead", []),
    ],
)
def test_what_is_a_marker(text: str, expected: str, hints: list[tuple[int, int]]) -> None:
    assert cleaned([text]) == (expected, hints)


def test_little_is_held_back() -> None:
    marker_filter = MarkerFilter()
    assert marker_filter.feed("The pump").text == "The pump"
    assert marker_filter.feed(" [").text == ""
    assert marker_filter.feed("a word").text == " [a word"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The jack raises three tonnes [1][7]. Cite [Source 7] always.", "The jack raises three tonnes. Cite always."),
        ("Leeds[12] is a city【3】.", "Leeds is a city."),
        ("See ![status](http://evil.example/?q=1) now.", "See [status](http://evil.example/?q=1) now."),
        ("x = sys.argv[1] + b[2]; [3]", "x = sys.argv[1] + b[2];"),
        ("Take `a[1]` from it.", "Take `a[1]` from it."),
        ("[1]", ""),
    ],
)
def test_a_quote_has_no_markers_but_ours(text: str, shown: str) -> None:
    assert unmarked(text) == shown
