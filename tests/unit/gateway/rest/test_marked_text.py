"""Markers put into text: right behind their sentence, however the events interleave."""

from hypothesis import given
from hypothesis import strategies as st

from citemesh.client.types import AskEvent, Citation, CitationEvent, DeltaEvent, DoneEvent, Location, Span, Usage
from citemesh.text.sentences import split_sentences
from gateway.rest.core.streaming.marked_text import MarkedText

DONE = DoneEvent("complete", "generated", Usage(), (), {}, "", "")


def cited(span: Span, *numbers: int) -> CitationEvent:
    place = Location(Span(0, 1))
    return CitationEvent(span, tuple(Citation(n, "d", "c", place, "q", 1.0) for n in numbers), bool(numbers))


def marked(events: list[AskEvent]) -> list[str]:
    marked_text = MarkedText()
    return [marked_text.feed(event) for event in events]


def test_markers_stand_behind_their_sentence() -> None:
    text = "One is so. Two is more."
    events: list[AskEvent] = [DeltaEvent(text), cited(Span(0, 11), 2, 1), cited(Span(11, 23), 3), DONE]
    assert "".join(marked(events)) == "One is so.[1][2] Two is more.[3]"


def test_text_flows_before_its_citation_and_waits_behind_it() -> None:
    pieces = marked([DeltaEvent("One is"), DeltaEvent(" so. Two"), DeltaEvent(" is"), cited(Span(0, 11), 1), DONE])
    assert pieces == ["One is", " so.", "", "[1] Two is", ""]


def test_a_break_inside_a_sentence_loses_nothing() -> None:
    events: list[AskEvent] = [
        DeltaEvent("It was bu"),
        cited(Span(0, 9)),
        DeltaEvent("\n\n[The break.]\n\n"),
        cited(Span(9, 25)),
        DeltaEvent("Quoted here."),
        cited(Span(25, 37), 1),
        DONE,
    ]
    assert "".join(marked(events)) == "It was bu\n\n[The break.]\n\nQuoted here.[1]"


def test_code_stays_as_it_is() -> None:
    text = "Run this.\n```sh\nmake up\n```\nThen ask."
    sentences = split_sentences(text, line_ends=True)
    assert [s.text for s in sentences] == ["Run this.\n", "```sh\n", "make up\n", "```\n", "Then ask."]
    events: list[AskEvent] = [DeltaEvent(text), *(cited(s.span, n) for n, s in enumerate(sentences, 1))]
    assert "".join(marked([*events, DONE])) == "Run this.[1]\n```sh\nmake up\n```\nThen ask.[2][3][4][5]"
    code: list[AskEvent] = [
        DeltaEvent(text[10:28]),
        *(cited(s.span, 2) for s in split_sentences(text[10:28], line_ends=True)),
    ]
    assert "".join(marked([*code, DONE])) == "```sh\nmake up\n```\n\n[2]"


@given(
    st.text(alphabet=st.sampled_from("ab .。\n!中"), max_size=60),
    st.lists(st.integers(1, 9), max_size=60),
    st.lists(st.integers(0, 3), max_size=60),
)
def test_without_its_markers_the_marked_text_is_the_text(text: str, cuts: list[int], delays: list[int]) -> None:
    sentences = split_sentences(text, line_ends=True)
    events: list[AskEvent] = []
    at, said, lag = 0, 0, iter(delays)
    for cut in [*cuts, len(text)]:
        delta = text[said : said + cut]
        events += [DeltaEvent(delta)] if delta else []
        said += len(delta)
        while at < len(sentences) and sentences[at].span.end <= said and next(lag, 0) == 0:
            events.append(cited(sentences[at].span, at % 3 + 1))
            at += 1
    events += [cited(sentence.span, at % 3 + 1) for at, sentence in enumerate(sentences[at:], at)]
    marked_text = MarkedText()
    whole = "".join(marked_text.feed(event) for event in [*events, DONE])
    plain, last = "", 0
    for mark in marked_text.marks:
        assert whole[mark.start : mark.end] == f"[{mark.number}]"
        plain, last = plain + whole[last : mark.start], mark.end
    assert plain + whole[last:] == text
    expected = "".join(
        f"{s.text.rstrip()}[{at % 3 + 1}]{s.text[len(s.text.rstrip()) :]}" for at, s in enumerate(sentences)
    )
    assert whole == expected
