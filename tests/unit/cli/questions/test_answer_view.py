"""Answers as people and machines see them, from recorded events."""

import io
import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from citemesh.client.citation_markers import with_markers
from citemesh.client.types import (
    AskEvent,
    Citation,
    CitationEvent,
    DeltaEvent,
    DoneEvent,
    FollowUpsEvent,
    Location,
    PlanEvent,
    SearchEvent,
    Source,
    SourcesEvent,
    Span,
    Usage,
)
from cli.questions.answer_view import JsonWriter, TextWriter, quote_line


def source(number: int, title: str = "", uri: str = "", page: int = 0, headings: Sequence[str] = ()) -> Source:
    place = Location(Span(0, 9), page, tuple(headings))
    return Source(number, f"c{number}", f"d{number}", "default", title, uri, place, "passage text", 0.9)


def cites(start: int, end: int, *numbers: int, quote: str = "the very text", page: int = 0) -> CitationEvent:
    place = Location(Span(10, 10 + len(quote)), page)
    found = tuple(Citation(n, f"d{n}", "default", place, quote, 0.8) for n in numbers)
    return CitationEvent(Span(start, end), found, bool(numbers))


def done(*cited: int, finish: str = "complete", mode: str = "generated", notice: str = "") -> DoneEvent:
    return DoneEvent(finish, mode, Usage(100, 20, 0), cited, {"first_token": 812.0}, notice, "SmolLM2")


ANSWER: list[AskEvent] = [
    PlanEvent("What is it?", ("What is it?",)),
    SearchEvent(1, "What is it?", 9),
    SourcesEvent(
        (source(1, "Guide", "docs/guide.md", headings=("Start", "Install")), source(2, "Manual", "m.pdf", page=7))
    ),
    DeltaEvent("It is "),
    DeltaEvent("a mesh. "),
    cites(0, 13 - 1, 1, 2),
    DeltaEvent("It flies."),
    cites(13, 22 + 1),
    done(1, 2),
]


def shown(events: Sequence[AskEvent], terminal: bool = False, width: int = 80) -> str:
    out = io.StringIO()
    console = Console(
        file=out, force_terminal=terminal, width=width, highlight=False, markup=False, emoji=False, soft_wrap=True
    )
    writer = TextWriter(console)
    for event in events:
        writer.write(event)
    return out.getvalue()


def test_a_whole_answer() -> None:
    assert shown(ANSWER) == (
        "It is a mesh. [1][2] It flies. [unsupported]\n\n"
        "Sources\n"
        "[1] Guide  docs/guide.md, Start › Install\n"
        "    “the very text”\n"
        "[2] Manual  m.pdf, page 7\n"
        "    “the very text”\n\n"
        "written by SmolLM2 · 2 of 2 sources cited · 20 tokens · first token after 0.8 s\n"
    )


def test_text_is_shown_as_it_comes() -> None:
    assert shown(ANSWER[:5]) == "It is a mesh."


def test_a_terminal_gets_colours_and_a_pipe_does_not() -> None:
    assert "\x1b[1;36m [1][2]" in shown(ANSWER, terminal=True)
    assert "\x1b[1;33m [unsupported]" in shown(ANSWER, terminal=True)
    assert "\x1b" not in shown(ANSWER)


def test_chinese_takes_no_space_before_its_numbers() -> None:
    events: list[AskEvent] = [
        SourcesEvent((source(1, "指南"),)),
        DeltaEvent("它是一个网格。"),
        cites(0, 7, 1),
        DeltaEvent("很快。"),
        cites(7, 10, 1),
    ]
    assert shown([*events, done(1)]).startswith("它是一个网格。[1]很快。[1]\n\n")


def test_text_that_runs_ahead_of_its_numbers_waits_for_them() -> None:
    events: list[AskEvent] = [SourcesEvent((source(1, "G"), source(2, "M"))), DeltaEvent("It costs 3.5 euros. And i")]
    assert shown(events) == "It costs 3.5 euros."
    events += [DeltaEvent("t works. Or do"), cites(0, 20, 1)]
    assert shown(events) == "It costs 3.5 euros. [1] And it works."
    events += [DeltaEvent("es it?\n\n1. Yes"), cites(20, 34, 2), cites(34, 47)]
    assert shown(events) == "It costs 3.5 euros. [1] And it works. [2] Or does it? [unsupported]\n\n1. Yes"


@settings(deadline=None)
@given(st.lists(st.sampled_from(["One is. ", "二是。", "3.5 or so?\n", "1. Item\n", "no end "]), min_size=1), st.data())
def test_numbers_stand_right_behind_their_sentences_however_late_they_come(
    sentences: list[str], data: st.DataObject
) -> None:
    """As the gateway sends it: sentences tile the text, and a sentence's numbers come at any time after its text."""
    text, events, ends = "".join(sentences), list[AskEvent](), list[int]()
    for sentence in sentences:
        ends.append((ends[-1] if ends else 0) + len(sentence))
    sent = next_cited = 0
    while sent < len(text) or next_cited < len(ends):
        ready = next_cited < len(ends) and ends[next_cited] <= sent
        if ready and (sent == len(text) or data.draw(st.booleans())):
            start = ends[next_cited - 1] if next_cited else 0
            events.append(cites(start, ends[next_cited], 1))
            next_cited += 1
        else:
            step = data.draw(st.integers(1, 9))
            events.append(DeltaEvent(text[sent : sent + step]))
            sent = min(len(text), sent + step)
    body = shown([*events, done(1)]).split("\n\nwritten by")[0]
    without = [part for part in body.replace("\n", " ").replace(" ", "").split("[1]") if part]
    if "no end " not in sentences:
        assert without == [sentence.replace("\n", "").replace(" ", "") for sentence in sentences]


def test_documents_and_models_cannot_steer_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202egnp\x9b31m"
    events: list[AskEvent] = [
        SourcesEvent((source(1, evil, evil, headings=(evil,)),)),
        DeltaEvent(f"A{evil}."),
        cites(0, 3, 1, quote=evil),
    ]
    text = shown([*events, done(1, notice=evil)])
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)


def test_markup_in_text_is_text() -> None:
    assert shown([DeltaEvent("[bold]x[/bold] :smile: [1]")]) == "[bold]x[/bold] :smile: [1]"


def test_a_long_line_is_not_broken_into_others() -> None:
    text = "word " * 100 + "end."
    assert shown([DeltaEvent(text)], width=40) == text


def test_sources_that_were_read_are_listed_when_none_is_cited() -> None:
    text = shown([SourcesEvent((source(1, "Guide"),)), DeltaEvent("Hm."), cites(0, 3), done()])
    assert "none is cited\n[1] Guide\n" in text


def test_no_sources_says_what_to_do() -> None:
    text = shown([SourcesEvent(()), done(finish="no_sources")])
    assert "citemesh ingest" in text
    assert "Sources\n" not in text


@pytest.mark.parametrize(("finish", "word"), [("length", "--max-tokens"), ("interrupted", "broke off")])
def test_an_answer_that_is_not_whole_says_so(finish: str, word: str) -> None:
    assert word in shown([DeltaEvent("Half"), done(finish=finish)])


def test_an_extractive_answer_tells_why() -> None:
    text = shown([DeltaEvent("A sentence."), cites(0, 11, 1), done(1, mode="extractive", notice="generation is down")])
    assert "generation is down\n" in text
    assert "extractive" in text


def test_the_same_quotation_is_listed_once_and_many_are_counted() -> None:
    events: list[AskEvent] = [SourcesEvent((source(1, "Guide"),)), DeltaEvent("A. B. C. D. E.")]
    events += [
        CitationEvent(Span(n * 3, n * 3 + 2), (Citation(1, "d", "c", Location(Span(n, n + 5)), f"q{n}", 1.0),), True)
        for n in range(4)
    ]
    events.append(CitationEvent(Span(12, 14), (Citation(1, "d", "c", Location(Span(0, 5)), "q0", 1.0),), True))
    text = shown([*events, done(1)])
    assert text.count("“q0”") == 1
    assert "and 1 more" in text


def test_a_long_quotation_is_cut() -> None:
    line = quote_line("long  \n" * 200).plain
    assert len(line) < 300
    assert line.endswith("…”")
    assert "\n" not in line


@settings(deadline=None)
@given(st.lists(st.text(), max_size=6))
def test_a_pipe_gets_every_character_once(parts: list[str]) -> None:
    """Whatever the deltas are cut into, the text is what it is."""
    plain = [part.replace("\t", " ") for part in parts]
    one = shown([DeltaEvent("".join(plain))])
    assert shown([DeltaEvent(part) for part in plain]) == one


def test_json_is_one_object_a_line() -> None:
    lines: list[str] = []
    writer = JsonWriter(lines.append)
    for event in ANSWER:
        writer.write(event)
    events = [json.loads(line) for line in lines]
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)
    assert [event["event"] for event in events] == [
        "plan", "search", "sources", "delta", "delta", "citation", "delta", "citation", "done",
    ]  # fmt: skip
    assert events[5]["citations"][1] | {"score": 0} == {
        "number": 2,
        "document_id": "d2",
        "collection": "default",
        "location": {"span": {"start": 10, "end": 23}, "page": 0, "headings": []},
        "quote": "the very text",
        "score": 0,
    }
    assert events[8]["usage"] == {"prompt_tokens": 100, "completion_tokens": 20, "cached_tokens": 0}


def test_related_questions_stand_below_the_sources() -> None:
    events = [*ANSWER[:-1], FollowUpsEvent(("Why \x1b[2Jso?", "为什么?")), ANSWER[-1]]
    text = shown(events)
    assert text.index("Sources") < text.index("Related questions\n  Why [2Jso?\n  为什么?\n")
    lines: list[str] = []
    JsonWriter(lines.append).write(events[-2])
    assert json.loads(lines[0]) == {"event": "follow_ups", "questions": ["Why \x1b[2Jso?", "为什么?"]}


def test_numbers_stand_where_every_other_way_in_has_them() -> None:
    """Numbers in order, code as it is, what nothing supports said only here."""
    text = "Run this.\n```sh\nmake up\n```\nThen ask. And hope."
    ends = [text.index("```"), text.index("make"), text.rindex("```"), text.index("Then"), text.index("And"), len(text)]
    numbers: list[tuple[int, ...]] = [(2, 1), (), (4, 3), (), (5,), ()]
    starts = [0, *ends]
    sentences = [cites(start, end, *some) for start, end, some in zip(starts, ends, numbers, strict=False)]
    body = shown([SourcesEvent((source(1, "G"),)), DeltaEvent(text), *sentences]).replace(" [", "[")
    assert body == "Run this.[1][2]\n```sh\nmake up\n```\nThen ask.[3][4][5] And hope.[unsupported]"
    assert body.removesuffix("[unsupported]") == with_markers(text, sentences)
