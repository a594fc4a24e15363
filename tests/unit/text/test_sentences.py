"""Sentences of a growing text: nothing is lost, nothing is cut twice, and deltas don't change where it is cut."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from citemesh.text.sentences import LONGEST_SENTENCE, Sentence, SentenceSplitter, split_sentences

TEXT = st.text(alphabet=st.sampled_from("ab A1.!?。！？…\n )\"”'，,- 中é😀"), max_size=120) | st.text(max_size=60)
CUTS = st.lists(st.integers(1, 9), max_size=200)


def parts(text: str, cuts: list[int]) -> list[str]:
    """The text in deltas of the given lengths, the rest in one."""
    deltas, at = [], 0
    for cut in cuts:
        deltas.append(text[at : at + cut])
        at += cut
    return [*deltas, text[at:]]


def streamed(deltas: list[str], longest: int = LONGEST_SENTENCE) -> list[Sentence]:
    splitter = SentenceSplitter(longest=longest)
    return [s for delta in deltas for s in splitter.feed(delta)] + splitter.close()


def texts(text: str, line_ends: bool = True) -> list[str]:
    return [sentence.text.strip() for sentence in split_sentences(text, line_ends)]


@example("??中", [1], 5)
@example("… …本", [1, 1], LONGEST_SENTENCE)
@given(TEXT, CUTS, st.sampled_from([5, 20, LONGEST_SENTENCE]))
def test_sentences_tile_the_text_however_it_arrives(text: str, cuts: list[int], longest: int) -> None:
    at_once = streamed([text], longest)
    assert streamed(parts(text, cuts), longest) == at_once
    assert "".join(sentence.text for sentence in at_once) == text
    at = 0
    for sentence in at_once:
        assert sentence.span.start == at < sentence.span.end
        assert len(sentence.text) <= longest
        at = sentence.span.end
    assert at == len(text)


@given(TEXT)
def test_prose_tiles_too(text: str) -> None:
    assert "".join(sentence.text for sentence in split_sentences(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("It costs 3.14 dollars. Yes.", ["It costs 3.14 dollars.", "Yes."]),
        ("Dr. Smith met J. R. Hill, e.g. on p. 7. He left.", ["Dr. Smith met J. R. Hill, e.g. on p. 7.", "He left."]),
        ("See example.com/a.html for v1.2.3. Then go.", ["See example.com/a.html for v1.2.3.", "Then go."]),
        ("He said: “Go.” She went.", ["He said: “Go.”", "She went."]),
        ("你好。今天天气怎么样？很好！", ["你好。", "今天天气怎么样？", "很好！"]),
        ("他说：“好。”然后走了。", ["他说：“好。”", "然后走了。"]),
        ("中文句子。English follows. 再来。", ["中文句子。", "English follows.", "再来。"]),
        ("1. First item\n2. Second item", ["1. First item", "2. Second item"]),
        ("Title\n\n- one\n- two", ["Title", "- one", "- two"]),
        ("Wait... what? no way!", ["Wait... what? no way!"]),
        ("Smile 😀. Next 👨‍👩‍👧 one.", ["Smile 😀.", "Next 👨‍👩‍👧 one."]),
        ("ما هذا؟ هذا كتاب.", ["ما هذا؟", "هذا كتاب."]),
        ("यह एक है। वह दो है।", ["यह एक है।", "वह दो है।"]),
        ("It is «so.» It is {not.} Then.", ["It is «so.»", "It is {not.}", "Then."]),
        ("Is it No. 5? No. It is not.", ["Is it No. 5?", "No.", "It is not."]),
        ("", []),
    ],
)
def test_where_sentences_end(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_wrapped_lines_are_one_sentence_in_prose() -> None:
    text = "The pump runs\nat 40 bar. It\nneeds oil.\n\n# Next\n- an item\n- another"
    assert texts(text, line_ends=False) == [
        "The pump runs\nat 40 bar.",
        "It\nneeds oil.",
        "# Next",
        "- an item",
        "- another",
    ]


def test_a_text_without_any_end_is_cut_and_stays_quick() -> None:
    text = "字" * 10_000
    assert [len(s.text) for s in streamed(list(text))] == [LONGEST_SENTENCE] * 12 + [400]
    words = streamed(["word "] * 2000)
    assert all(s.text.endswith(" ") for s in words)


def test_a_full_width_semicolon_ends_a_sentence_where_asked() -> None:
    assert texts("他来了；她走了。") == ["他来了；她走了。"]
    splitter = SentenceSplitter(semicolons=True)
    assert [sentence.text for sentence in [*splitter.feed("他来了；她走了。"), *splitter.close()]] == [
        "他来了；",
        "她走了。",
    ]


def test_hostile_texts_are_cut_in_linear_time() -> None:
    for text in ("\n" * 100_000, "." * 100_000, "a. " * 50_000, "e.g. " * 50_000, " " * 100_000 + "a"):
        start_s = time.thread_time()
        assert "".join(sentence.text for sentence in split_sentences(text)) == text
        assert time.thread_time() - start_s < 5
