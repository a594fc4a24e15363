"""Expressions hold nothing that a caller wrote, whatever it is."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pymilvus")

from services.retrieval.engines.milvus.filter import expression, key
from services.retrieval.engines.milvus.rows import indexed, query_words
from services.retrieval.types.query import Condition, Filter

PLAIN = re.compile(
    r"""(?:[()\[\], ]|and|not|is null|is|null|array_contains_any|tags|numbers|texts|published|>=|<=|<|-?[\d.e+-]+|inf"""
    r"""|"[0-9a-f]*g?")*"""
)
TEXTS = st.text(max_size=20)
CONDITIONS = st.one_of(
    st.builds(Condition, key=TEXTS, any_of=st.lists(TEXTS, min_size=1, max_size=3).map(tuple)),
    st.builds(Condition, key=TEXTS, numbers=st.tuples(st.none() | st.floats(allow_nan=False), st.floats(0, 9))),
    st.builds(Condition, key=TEXTS, texts=st.tuples(st.none() | TEXTS, TEXTS)),
)
FILTERS = st.builds(
    Filter,
    document_ids=st.lists(TEXTS, max_size=3),
    source_types=st.lists(TEXTS, max_size=3),
    domains=st.lists(TEXTS, max_size=3),
    languages=st.lists(TEXTS, max_size=2),
    metadata=st.dictionaries(TEXTS, TEXTS, max_size=2),
    conditions=st.lists(CONDITIONS, max_size=3),
    published_after=st.none() | st.just(datetime(1969, 1, 1, tzinfo=UTC)),
)


@given(FILTERS)
def test_nothing_of_a_caller_stands_in_an_expression(chosen: Filter) -> None:
    assert PLAIN.fullmatch(expression(chosen)), expression(chosen)


def test_no_filter_is_no_expression() -> None:
    assert expression(Filter()) == ""
    assert key("a", "bc") != key("ab", "c")


@given(st.text(max_size=200))
def test_words_are_letters_and_digits_of_ascii(text: str) -> None:
    assert re.fullmatch(r"[a-z0-9 ]*", indexed(text))
    assert re.fullmatch(r"[a-z0-9 ]*", query_words(text))


@pytest.mark.parametrize("query", ["茶", "茶道", "泡茶", "Tea", "naïve", "don't", "プログラミング", "한국어"])
def test_a_querys_words_are_among_those_of_a_text_that_has_them(query: str) -> None:
    text = "Tea is 泡茶道 to the naïve; don't ask. プログラミング 한국어"
    assert set(query_words(query).split()) <= set(indexed(text).split())
