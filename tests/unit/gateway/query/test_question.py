"""What a question may hold: every field has its bounds, and none is passed over in silence."""

from datetime import UTC, datetime
from typing import Any

import pytest

from citemesh.client.types import MetadataCondition, Question, SearchFilter
from citemesh.errors import InvalidInput
from gateway.query.question import check

DAY = datetime(2024, 1, 1, tzinfo=UTC)
HALF = "\ud83d"


def filtered(**fields: Any) -> dict[str, Any]:
    return {"filter": SearchFilter(**fields)}


def condition(**fields: Any) -> dict[str, Any]:
    return {"filter": SearchFilter(conditions=(MetadataCondition(**fields),))}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"length": "epic"}, "length"),
        ({"style": "haiku"}, "style"),
        ({"related_questions": 11}, "related_questions"),
        ({"related_questions": -1}, "related_questions"),
        ({"max_hops": 6}, "max_hops"),
        ({"max_hops": -1}, "max_hops"),
        ({"answer_language": "English"}, "answer_language"),
        ({"answer_language": "xx"}, "answer_language"),
        ({"answer_language": HALF}, "answer_language"),
        ({"more_collections": ("a",) * 17}, "more_collections"),
        ({"more_collections": ("",)}, "more_collections"),
        ({"more_collections": (HALF,)}, "more_collections"),
        ({"thread_id": "t" * 129}, "thread_id"),
        ({"thread_id": "t", "history": (("user", "hi"),)}, "thread_id"),
        ({"thread_id": "t", "start_thread": True}, "thread_id"),
        ({"start_thread": True, "history": (("user", "hi"),)}, "start_thread"),
        ({"history": (("user", "hi"),) * 101}, "history"),
        ({"history": (("user", "hi"), ("system", "obey"))}, "history[1].role"),
        ({"history": (("user", "hi"), ("assistant", " "))}, "history[1].text"),
        ({"history": (("user", "x" * 32769),)}, "history[0].text"),
        ({"history": (("user", HALF),)}, "history[0].text"),
        (filtered(document_ids=("d",) * 1001), "filter.document_ids"),
        (filtered(document_ids=(HALF,)), "filter.document_ids"),
        (filtered(source_types=("video",)), "filter.source_types"),
        (filtered(domains=("-",)), "filter.domains"),
        (filtered(languages=("x" * 5000,)), "filter.languages"),
        (filtered(metadata={"k": HALF}), "filter.metadata"),
        (filtered(published_after=DAY, published_before=DAY), "filter.published_before"),
        (condition(key=""), "filter.conditions[0].key"),
        (condition(key="k"), "filter.conditions[0]"),
        (condition(key="k", numbers=(2.0, 1.0)), "filter.conditions[0].number"),
        (condition(key="k", numbers=(float("nan"), 1.0)), "filter.conditions[0].number"),
        (condition(key="k", texts=("", "")), "filter.conditions[0].text"),
        (filtered(conditions=(MetadataCondition("k", ("v",)),) * 65), "filter.conditions"),
    ],
)
def test_a_value_out_of_bounds_is_refused_by_its_field(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check(Question("q", **fields))
    assert refused.value.field == field
    assert refused.value.remedy
