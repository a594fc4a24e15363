"""Parts of bounded size."""

from hypothesis import given
from hypothesis import strategies as st

from services.reranker.token_vectors.groups import groups


@given(st.lists(st.integers(0, 20), max_size=30), st.integers(1, 40))
def test_parts_cover_all_in_order_and_keep_to_the_limit(sizes: list[int], limit: int) -> None:
    parts = list(groups(sizes, limit))
    assert [number for part in parts for number in range(len(sizes))[part]] == list(range(len(sizes)))
    assert all(sum(sizes[part]) <= limit or part.stop - part.start == 1 for part in parts)
