"""What a person writes to narrow a search."""

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.client.types import MetadataCondition
from citemesh.errors import InvalidInput
from cli.terminal.filters import condition, moment, search_filter


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("team=infra", MetadataCondition("team", any_of=("infra",))),
        ("team == infra", MetadataCondition("team", any_of=("infra",))),
        ("标题=茶 = 水", MetadataCondition("标题", any_of=("茶 = 水",))),
        ("team=", MetadataCondition("team", any_of=("",))),
        ('team="a, b"', MetadataCondition("team", any_of=("a, b",))),
        ("state in open,new", MetadataCondition("state", any_of=("open", "new"))),
        ('state in "a,b", c', MetadataCondition("state", any_of=("a,b", "c"))),
        ("title=salt in water", MetadataCondition("title", any_of=("salt in water",))),
        ("year>=2020", MetadataCondition("year", numbers=(2020.0, None))),
        ("year <= -1.5", MetadataCondition("year", numbers=(None, -1.5))),
        ("n>1", MetadataCondition("n", numbers=(math.nextafter(1, 2), None))),
        ("n<1", MetadataCondition("n", numbers=(None, math.nextafter(1, 0)))),
        ("day>=2024-05-01", MetadataCondition("day", texts=("2024-05-01", ""))),
        ("day<=2024-05-01", MetadataCondition("day", texts=("", "2024-05-01"))),
        ('day>="2024"', MetadataCondition("day", texts=("2024", ""))),
        ("x>=nan", MetadataCondition("x", texts=("nan", ""))),
    ],
)
def test_a_condition(text: str, wanted: MetadataCondition) -> None:
    assert condition(text) == wanted


@pytest.mark.parametrize("text", ["", "team", "team!=x", "=x", ">=3", "day>2024-05-01", "year>=", "a<>b"])
def test_what_is_no_condition_names_the_option(text: str) -> None:
    with pytest.raises(InvalidInput) as told:
        condition(text)
    assert told.value.field == "--where"
    assert told.value.remedy


@given(st.text(max_size=60))
def test_any_text_is_a_condition_or_a_named_fault(text: str) -> None:
    try:
        found = condition(text)
    except InvalidInput:
        return
    assert found.key
    assert sum(it is not None and it != () for it in (found.any_of, found.numbers, found.texts)) == 1


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-05", datetime(2024, 5, 1, tzinfo=UTC)),
        ("2024-05-02", datetime(2024, 5, 2, tzinfo=UTC)),
        ("2024-05-02T12:30Z", datetime(2024, 5, 2, 12, 30, tzinfo=UTC)),
        ("2024-05-02T12:30+08:00", datetime(2024, 5, 2, 12, 30, tzinfo=timezone(timedelta(hours=8)))),
    ],
)
def test_a_date(text: str, wanted: datetime) -> None:
    assert moment("--after", text) == wanted


@pytest.mark.parametrize("text", ["", "yesterday", "2024-13", "0000", "2024-05-01x"])
def test_what_is_no_date_names_the_option(text: str) -> None:
    with pytest.raises(InvalidInput, match="--before"):
        moment("--before", text)


def test_nothing_given_takes_everything() -> None:
    assert search_filter((), (), (), (None, None), ()) == type(search_filter((), (), (), (None, None), ()))()
