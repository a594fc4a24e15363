"""Fields of a question that every API has: the collections and sources that are searched, and what is listed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from citemesh.client.types import Question
from citemesh.contract.source_types import SOURCE_TYPES
from citemesh.errors import InvalidInput
from gateway.rest.core.body import as_kind
from gateway.rest.core.fields import Fields
from gateway.rest.core.question.filters import FILTER, search_filter

ANY = ("any", "all", "auto", "")
PREFERENCE = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}

FOCUS = Fields()
COLLECTION = FOCUS.text("collection", 'Collection to search; "default" where left out.')
MORE_COLLECTIONS = FOCUS.texts("more_collections", "More collections to search beside it, up to 16.")
SOURCE_PREFERENCE = FOCUS.anything(
    "source_preference", f'Kinds of source: "any", one of {", ".join(SOURCE_TYPES)}, or a list.', PREFERENCE
)
FILTERED = FOCUS.object("filter", "What a source must be.", FILTER)

ANSWERED = Fields(FOCUS)
ALL_SOURCES = ANSWERED.flag("all_sources", "Lists the sources that nothing cites as well; `cited` tells them apart.")


def focused(question: Question, body: Mapping[str, Any]) -> Question:
    """The question over the collections and sources that a body names. Raises InvalidInput naming its field."""
    return replace(
        question,
        collection=COLLECTION.of(body),
        source_types=source_types(SOURCE_PREFERENCE.of(body)),
        filter=search_filter(FILTERED.name, FILTERED.of(body)),
        more_collections=MORE_COLLECTIONS.of(body),
    )


def source_types(preference: Any) -> tuple[str, ...]:
    """Kinds of source for a preference: "any", one kind, or a list of kinds."""
    preferences = preference if isinstance(preference, list) else [preference or "any"]
    kinds = [as_kind("source_preference", item, str).strip().lower() for item in preferences]
    if any(kind in ANY for kind in kinds):
        return ()
    for kind in kinds:
        if kind not in SOURCE_TYPES:
            raise InvalidInput(
                "source_preference", f"{kind[:40]!r} is not known", f"use any, {', '.join(SOURCE_TYPES)}, or a list"
            )
    return tuple(dict.fromkeys(kinds))
