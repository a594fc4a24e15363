"""Checks of a filter: the same bounds for the gateway's questions and for retrieval's searches."""

from datetime import UTC, datetime
from typing import Any

import pytest

from citemesh.client.types import MetadataCondition, SearchFilter
from citemesh.contract import filters
from citemesh.contract.filters import check_collections, check_filter, check_filter_values
from citemesh.errors import InvalidInput
from services.retrieval.types.query import Condition, Filter

DAY = datetime(2024, 1, 1, tzinfo=UTC)
HALF = "\ud83d"
BOUNDED: list[tuple[dict[str, Any], str]] = [
    ({"document_ids": ("d",) * (filters.MOST_VALUES + 1)}, "filter.document_ids"),
    ({"metadata": {str(n): "v" for n in range(filters.MOST_VALUES + 1)}}, "filter.metadata"),
    ({"domains": ("-",)}, "filter.domains"),
]
CONDITIONS: list[tuple[dict[str, Any], str]] = [
    ({"key": ""}, "filter.conditions[0].key"),
    ({"key": "x" * (filters.LONGEST_KEY + 1)}, "filter.conditions[0].key"),
    ({"key": "k"}, "filter.conditions[0]"),
    ({"key": "k", "any_of": ("v",) * (filters.MOST_VALUES + 1)}, "filter.conditions[0].any_of"),
    ({"key": "k", "numbers": (None, None)}, "filter.conditions[0].number"),
    ({"key": "k", "numbers": (2.0, 1.0)}, "filter.conditions[0].number"),
    ({"key": "k", "numbers": (float("nan"), 1.0)}, "filter.conditions[0].number"),
    ({"key": "k", "texts": ("", "")}, "filter.conditions[0].text"),
    ({"key": "k", "texts": ("b", "a")}, "filter.conditions[0].text"),
]
SENSELESS: list[tuple[SearchFilter, str]] = [
    (SearchFilter(source_types=("video",)), "filter.source_types"),
    (SearchFilter(languages=("x" * (filters.LONGEST_VALUE + 1),)), "filter.languages"),
    (SearchFilter(metadata={"k": HALF}), "filter.metadata"),
    (SearchFilter(published_after=DAY, published_before=DAY), "filter.published_before"),
    (SearchFilter(conditions=(MetadataCondition(HALF, ("v",)),)), "filter.conditions[0].key"),
    (SearchFilter(conditions=(MetadataCondition("k", texts=(HALF, "")),)), "filter.conditions[0].text"),
]


@pytest.mark.parametrize(("fields", "at_fault"), BOUNDED)
def test_a_filter_out_of_bounds_is_refused_on_both_sides(fields: dict[str, Any], at_fault: str) -> None:
    for side in (SearchFilter(**fields), Filter(**fields)):
        with pytest.raises(InvalidInput) as refusal:
            check_filter("filter", side)
        assert refusal.value.field == at_fault
        assert refusal.value.remedy


@pytest.mark.parametrize(("fields", "at_fault"), CONDITIONS)
def test_a_condition_out_of_bounds_is_refused_on_both_sides(fields: dict[str, Any], at_fault: str) -> None:
    sides = (
        SearchFilter(conditions=(MetadataCondition(**fields),)),
        Filter(conditions=(Condition(**fields),)),
    )
    for side in sides:
        with pytest.raises(InvalidInput) as refusal:
            check_filter("filter", side)
        assert refusal.value.field == at_fault


@pytest.mark.parametrize(("fields", "at_fault"), SENSELESS)
def test_values_that_can_not_match_are_refused_where_a_person_asks(fields: SearchFilter, at_fault: str) -> None:
    check_filter("filter", fields)
    with pytest.raises(InvalidInput) as refusal:
        check_filter_values("filter", fields)
    assert refusal.value.field == at_fault


def test_what_is_within_bounds_passes() -> None:
    condition = MetadataCondition("k", numbers=(1.0, None))
    fields = SearchFilter(("d",), ("pdf",), ("-x.org", "y.org"), ("zh",), DAY, None, {"k": "v"}, (condition,) * 64)
    check_filter("filter", fields)
    check_filter_values("filter", fields)


def test_collections_are_named_and_few() -> None:
    check_collections("more_collections", ("a",) * filters.MOST_COLLECTIONS)
    for names in (("a",) * (filters.MOST_COLLECTIONS + 1), ("",), (HALF,)):
        with pytest.raises(InvalidInput, match="more_collections"):
            check_collections("more_collections", names)
