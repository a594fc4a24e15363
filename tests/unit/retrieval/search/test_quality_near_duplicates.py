"""Near-duplicates: what is folded, what never is, and what it costs."""

import random
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.search import near_duplicates
from tests.support.corpus import chinese, english


def words_of(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return ["".join(chance.choices("abcdefghij", k=6)) for _ in range(count)]


LONG = words_of(120, 1)
SIGNED = near_duplicates.signature(" ".join(LONG))


@given(st.text(max_size=300))
def test_a_text_is_like_itself_whatever_it_is(text: str) -> None:
    signed = near_duplicates.signature(text)
    assert signed == near_duplicates.signature(text)
    assert near_duplicates.similarity(signed, signed) == 1


@given(st.text(max_size=200), st.text(max_size=200))
def test_similarity_is_within_bounds_and_the_same_both_ways(one: str, other: str) -> None:
    left, right = near_duplicates.signature(one), near_duplicates.signature(other)
    assert 0 <= near_duplicates.similarity(left, right) == near_duplicates.similarity(right, left) <= 1


@pytest.mark.parametrize("changed", [0, 2, 5, 10, 20, 40])
def test_similarity_is_the_share_of_runs_in_common(changed: int) -> None:
    other = [*LONG[: len(LONG) - changed], *words_of(changed, 2)]
    runs, others = ({tuple(text[at : at + 3]) for at in range(len(text) - 2)} for text in (LONG, other))
    exact = len(runs & others) / len(runs | others)
    assert near_duplicates.similarity(SIGNED, near_duplicates.signature(" ".join(other))) == pytest.approx(
        exact, abs=0.1
    )


def test_case_width_and_punctuation_make_no_difference() -> None:
    other = near_duplicates.signature(", ".join(LONG).upper() + "!")
    assert near_duplicates.similarity(SIGNED, other) == 1
    assert (
        near_duplicates.similarity(near_duplicates.signature("Ｎｅａｒ  by"), near_duplicates.signature("near, by"))
        == 1
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("version 1.4.2 " + " ".join(LONG), "version 1.4.3 " + " ".join(LONG)),
        (" ".join(LONG) + " costs 5 or 7", " ".join(LONG) + " costs 7 or 5"),
        (" ".join(LONG) + " at -5", " ".join(LONG) + " at 5"),
        (" ".join(LONG) + " part A17", " ".join(LONG) + " part B17"),
        (" ".join(LONG) + " in 2024", " ".join(LONG)),
        (
            "第三季度" + "公司的营业收入和利润都比去年同期有所增长" * 6,
            "第四季度" + "公司的营业收入和利润都比去年同期有所增长" * 6,
        ),
        ("Alice, Berlin, 5", "Alice, Berlin, 6"),
        ("the door is open", "the door is not open"),
        ("北京大学在北京", "北京大学在南京"),
        ("🙂🙂", "🙂🙃"),
        ("", "!"),
        (" ".join(LONG), "🙂"),
    ],
)
def test_these_are_never_near(one: str, other: str) -> None:
    assert near_duplicates.similarity(near_duplicates.signature(one), near_duplicates.signature(other)) == 0


def test_groups_stand_for_what_is_near_to_their_first() -> None:
    texts = [" ".join(LONG), "short one", " ".join([*LONG[:-2], "end"]), "another", "short one", " ".join(LONG)]
    first, second, third = near_duplicates.fold([near_duplicates.signature(text) for text in texts], most=10)
    assert (first.first, second.first, third.first) == (0, 1, 3)
    assert [place for place, _ in first.duplicates] == [2, 5]
    assert first.duplicates[1][1] == 1 and 0.9 < first.duplicates[0][1] < 1
    assert second.duplicates == ((4, 1.0),) and third.duplicates == ()


def test_a_group_too_many_is_left_out_but_what_belongs_to_one_is_not() -> None:
    signed = [near_duplicates.signature(text) for text in ("a", "b", "c", "a", "d", "b")]
    assert near_duplicates.fold(signed, most=2) == [
        near_duplicates.DuplicateGroup(0, ((3, 1.0),)),
        near_duplicates.DuplicateGroup(1, ((5, 1.0),)),
    ]
    assert near_duplicates.fold([], most=5) == []


@given(
    st.lists(
        st.sampled_from([near_duplicates.signature(" ".join(words_of(40, n % 5)) + "x" * (n % 3)) for n in range(15)])
    )
)
def test_every_text_is_in_one_group(signatures: Sequence[bytes]) -> None:
    groups = near_duplicates.fold(signatures, most=len(signatures))
    places = sorted(place for group in groups for place in (group.first, *(other for other, _ in group.duplicates)))
    assert places == list(range(len(signatures)))
    assert [group.first for group in groups] == sorted(group.first for group in groups)


def edited(text: str, chance: random.Random) -> str:
    """A copy as people make them: one line moved to the end, words in between, another case and spacing."""
    words = text.split(" ")
    at = chance.randrange(len(words) // 2, len(words))
    return "From the archive.  " + " ".join([*words[:at], "really,", *words[at:]]).replace(". ", ".  ") + "\n(end)"


def test_real_passages_fold_with_their_copies_only() -> None:
    chance = random.Random(5)
    pages = [path.read_text(encoding="utf-8") for path in (*english(), *chinese())]
    texts = [page[at : at + 800] for page in pages for at in range(1000, len(page) - 800, 800)][:200]
    signed = [near_duplicates.signature(text) for text in texts]
    copies = [
        near_duplicates.similarity(known, near_duplicates.signature(edited(text, chance)))
        for text, known in zip(texts, signed, strict=True)
    ]
    assert sum(value >= near_duplicates.THRESHOLD for value in copies) >= 0.95 * len(copies)
    assert len(near_duplicates.fold(signed, most=len(signed))) >= 0.95 * len(signed)


def test_a_huge_text_is_signed_in_time() -> None:
    started = time.thread_time()
    assert len(near_duplicates.signature("never the same " * 40_000)) == len(SIGNED)
    assert time.thread_time() - started < 5


def test_folding_a_thousand_is_bounded() -> None:
    signed = [near_duplicates.signature(" ".join(words_of(30, seed))) for seed in range(1000)]
    started = time.thread_time()
    assert len(near_duplicates.fold(signed, most=1000)) == 1000
    assert time.thread_time() - started < 2
