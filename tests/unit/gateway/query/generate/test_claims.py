"""A model's stream taken apart into clean text and claims."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gateway.query.cite.citations import Claim
from gateway.query.generate.claims import ClaimReader

TEXT = "泵在 40 巴下运行。[2] It runs 🚀 at 40 bar [1][3]. Nothing is known. [9] That is all"


def read(pieces: list[str]) -> tuple[str, list[Claim]]:
    reader = ClaimReader()
    parts = [reader.feed(piece) for piece in pieces] + [reader.close()]
    return "".join(part.text for part in parts), [claim for part in parts for claim in part.claims]


def test_a_marker_belongs_to_the_sentence_that_it_stands_at() -> None:
    text, claims = read([TEXT])
    assert "[" not in text
    spans = [text[claim.sentence.span.start : claim.sentence.span.end].strip() for claim in claims]
    assert spans[-1] == "That is all" and "🚀" in spans[1]
    assert [sorted(claim.hints) for claim in claims][:2] == [[2], [1, 3]]


@given(st.lists(st.integers(0, len(TEXT)), max_size=8))
def test_how_the_stream_is_cut_changes_nothing(cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(TEXT)]
    assert read([TEXT[a:b] for a, b in pairwise(ends)]) == read([TEXT])
