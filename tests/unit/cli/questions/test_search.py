"""`citemesh search`: who is asked, and what is shown of the answer."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner, Result

from citemesh.client import query as query_module
from citemesh.client import retrieval as retrieval_module
from citemesh.client.types import (
    Duplicate,
    Location,
    MetadataCondition,
    Passage,
    Search,
    SearchAnswer,
    SearchFilter,
    Source,
    Span,
)
from cli import main

PLACE = Location(Span(0, 9), page=3)


def passage(**changes: Any) -> Passage:
    whole: dict[str, Any] = {
        "chunk_id": "c",
        "document_id": "d",
        "collection": "default",
        "title": "Guide",
        "uri": "g.md",
        "location": PLACE,
        "text": "two\nlines",
        "token_ids": (1,),
        "tokenizer_digest": "x",
        "fused": 0.75,
        "dense": 0.5,
        "published_at": datetime(2024, 5, 1, tzinfo=UTC),
    }
    return Passage(**whole | changes)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Search]:
    """A retrieval service that answers; what it was asked."""
    searches: list[Search] = []

    async def find(self: object, search: Search) -> SearchAnswer:
        searches.append(search)
        twin = Duplicate("c2", "d2", "Copy", "copy.md", PLACE, 0.93)
        found = (passage(duplicates=(twin,)), passage(title="\x1b[2J", dense=None, lexical=7.25))
        return SearchAnswer(found, 4, ("dense was left out\x07",))

    monkeypatch.setattr(retrieval_module.RetrievalClient, "find", find)
    return searches


@pytest.fixture
def asked_gateway(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    searches: list[dict[str, Any]] = []

    async def search(self: object, query: str, collection: str, top_k: int, **more: Any) -> tuple[Source, ...]:
        searches.append({"query": query, "collection": collection, "top_k": top_k, **more})
        return ()

    monkeypatch.setattr(query_module.QueryClient, "search", search)
    return searches


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(main, ("search", "--target", "x:1", "tea", *words))


def test_filters_go_to_the_gateway(invoke: Callable[..., Result], asked_gateway: list[dict[str, Any]]) -> None:
    words = ["--collection", "a", "--collection", "b", "--top-k", "7", "--domain", "-x.org", "--domain", "y.org"]
    words += ["--language", "zh", "--after", "2024", "--before", "2025-02", "--where", "n>=1", "--where", "t in a,b"]
    result = invoke(*words, "--source-type", "pdf")
    assert result.exit_code == 0
    assert "Nothing found" in result.stdout
    chosen = SearchFilter(
        source_types=("pdf",),
        domains=("-x.org", "y.org"),
        languages=("zh",),
        published_after=datetime(2024, 1, 1, tzinfo=UTC),
        published_before=datetime(2025, 2, 1, tzinfo=UTC),
        conditions=(MetadataCondition("n", numbers=(1.0, None)), MetadataCondition("t", any_of=("a", "b"))),
    )
    assert asked_gateway == [
        {"query": "tea", "collection": "a", "top_k": 7, "filter": chosen, "more_collections": ("b",)}
    ]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--mode", "dense"], Search("tea", mode="dense")),
        (["--fusion", "reciprocal-rank"], Search("tea", fusion="reciprocal_rank")),
        (["--dense-weight", "0"], Search("tea", dense_weight=0.0)),
        (["--keep-duplicates"], Search("tea", keep_duplicates=True)),
        (["--top-k", "101"], Search("tea", top_k=101)),
        (["--service", "retrieval"], Search("tea")),
        (
            ["--mode", "lexical", "--language", "en"],
            Search("tea", mode="lexical", filter=SearchFilter(languages=("en",))),
        ),
    ],
)
def test_what_only_retrieval_can_do_goes_there(
    invoke: Callable[..., Result], asked: list[Search], words: list[str], wanted: Search
) -> None:
    assert invoke(*words).exit_code == 0
    assert asked == [wanted]


def test_parts_duplicates_and_notices_are_shown_and_cannot_steer(
    invoke: Callable[..., Result], asked: list[Search]
) -> None:
    result = invoke("--service", "retrieval")
    assert result.stdout.splitlines() == [
        "dense was left out",
        "[1] Guide  g.md, page 3  0.75 (dense 0.50)",
        "    “two lines”",
        "    nearly the same: copy.md (93 %)",
        "[2] [2J  g.md, page 3  0.75 (lexical 7.25)",
        "    “two lines”",
    ]


def test_each_passage_and_notice_is_a_line_for_machines(invoke: Callable[..., Result], asked: list[Search]) -> None:
    lines = [json.loads(line) for line in invoke("--service", "retrieval", "--json").stdout.splitlines()]
    assert [line.get("fused") for line in lines] == [0.75, 0.75, None]
    assert lines[0]["published_at"] == "2024-05-01T00:00:00+00:00"
    assert lines[0]["duplicates"][0]["document_id"] == "d2"
    assert "token_ids" not in lines[0]
    assert lines[2] == {"notice": "dense was left out\x07"}


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["--service", "gateway", "--mode", "dense"], "--service"),
        (["--service", "gateway", "--top-k", "500"], "--service"),
        (["--mode", "dense", "--collection", "a", "--collection", "b"], "--collection"),
        (["--after", "soon"], "--after"),
        (["--where", "year"], "--where"),
    ],
)
def test_wrong_use_names_the_option_and_says_what_to_do(
    invoke: Callable[..., Result], words: list[str], field: str
) -> None:
    result = invoke(*words)
    assert result.exit_code == 2
    first, second = result.stderr.splitlines()
    assert first.startswith(f"error: {field}: ")
    assert second.startswith("what to do: ")
