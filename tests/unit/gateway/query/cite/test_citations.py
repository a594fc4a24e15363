"""What is cited at a sentence: the best source, what speaks against it left out, and two where it rests on two."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.client.types import Source
from citemesh.text.sentences import split_sentences
from gateway.query.answers.transcript import Transcript
from gateway.query.cite.citations import Checker, Claim
from gateway.query.cite.clauses import MOST, clauses
from gateway.query.cite.contradiction import contradicts
from gateway.query.flow import nowhere
from gateway.query.pack.packing import Scored, numbered, to_source
from tests.unit.gateway.query.asking import ask
from tests.unit.gateway.query.fakes import FakeGeneration, FakeRetrieval, Mesh, citations_of, passage

PUMP = "The main pump runs at a pressure of 40 bar. Its housing is steel."
FOUNDER = "Greta Lindqvist founded Acme in 1952, far from Leeds. She invented the double-acting piston."
DOUBTFUL = "Blue whales swim beside ships and every boat in Leeds likes water."
ALIKE = "The main pump runs at 40 bar, as the leaflet says."


def sources(*texts: str) -> list[Source]:
    found = [passage(text, f"d{at}", 0) for at, text in enumerate(texts)]
    return numbered([to_source(Scored(one, 0.5)) for one in found])


async def cited(sentence: str, *texts: str, hints: frozenset[int] = frozenset(), most: int = 1) -> list[int]:
    """Numbers cited at a sentence, in the order that they are sent."""
    mesh, transcript = Mesh(), Transcript(nowhere)
    checker = Checker(mesh.reranker, sources(*texts), transcript, 5.0, most)
    [one] = split_sentences(sentence)
    checker.add(Claim(one, hints))
    checker.close()
    await asyncio.wait_for(checker.run(), 5)
    [event] = transcript.citations
    assert event.supported == bool(event.citations)
    return [citation.number for citation in event.citations]


async def test_one_source_is_enough_and_the_best_is_taken() -> None:
    said = "The main pump runs at a pressure of 40 bar."
    assert await cited(said, ALIKE, PUMP) == [2]
    assert await cited(said, ALIKE, PUMP, most=2) == [2, 1]


async def test_what_the_model_marked_stays_if_it_supports() -> None:
    said = "The main pump runs at a pressure of 40 bar."
    assert await cited(said, ALIKE, PUMP, FOUNDER, hints=frozenset((1, 3, 9))) == [2, 1]


@pytest.mark.parametrize(
    "said",
    [
        "The main pump runs at a pressure of 40 bar, and Greta Lindqvist founded Acme in 1952, far from Leeds.",
        "The main pump runs at a pressure of 40 bar while Greta Lindqvist founded Acme in 1952, far from Leeds.",
        "The main pump runs at a pressure of 40 bar; Greta Lindqvist founded Acme in 1952, far from Leeds.",
    ],
)
async def test_a_sentence_that_rests_on_two_sources_cites_both(said: str) -> None:
    assert await cited(said, PUMP, FOUNDER) == [1, 2]
    assert await cited(said, PUMP) == [], "half of it is made up, for all that is known"
    assert await cited(said, FOUNDER) == []


async def test_in_chinese_too() -> None:
    said = "主泵在四十巴的压力下运行，林德奎斯特创办了这家公司。"
    assert await cited(said, "主泵在四十巴的压力下运行。", "林德奎斯特创办了这家公司。") == [1, 2]


async def test_one_place_that_supports_both_clauses_is_cited_once() -> None:
    text = "The pump was built in Leeds and the valve was cast in York."
    assert await cited("The pump was built in Leeds long ago, and in York the valve was cast then.", text) == [1]


async def test_clauses_are_looked_at_only_where_nothing_supports_the_whole() -> None:
    mesh = Mesh(
        retrieval=FakeRetrieval((passage(PUMP, "d1"), passage(FOUNDER, "d2"))),
        generation=FakeGeneration(("The main pump runs at a pressure of 40 bar. ", DOUBTFUL)),
    )
    said = await ask(mesh)
    assert [event.supported for event in citations_of(said)] == [True, False]
    whole, parts = mesh.reranker.attributed
    assert [text.strip() for text in whole] == ["The main pump runs at a pressure of 40 bar.", DOUBTFUL]
    assert parts == ["Blue whales swim beside ships", "and every boat in Leeds likes water."]


@pytest.mark.parametrize(
    ("said", "source"),
    [
        ("The valve is not made of bronze.", "The valve is made of bronze."),
        ("Smoking decreases the risk of the disease.", "Smoking increases the risk of the disease."),
        ("The new pump is slower than the old one.", "The new pump is faster than the old one."),
        ("Nobody fails to see it, and the drug never lowers it.", "The drug lowers it, and all see it."),
        ("The lever moves seven tonnes.", "The lever moves two tonnes."),
        ("主泵在五十巴下运行。", "主泵在四十巴下运行。"),
        ("安全阀不是青铜做的。", "安全阀是青铜做的。"),
        ("压力升高。", "压力下降。"),
    ],
)
async def test_a_source_that_says_the_contrary_is_not_cited(said: str, source: str) -> None:
    assert contradicts(said, source)
    assert await cited(said, source) == []


@pytest.mark.parametrize(
    ("said", "source"),
    [
        ("The valve is not made of steel.", "The valve is not made of steel but of bronze."),
        ("It is mediated by NO.", "It is mediated by nitric oxide."),
        ("It has two legs.", "It has two legs and ten toes."),
        ("It rises.", "It rises, and lowers the cost."),
        ("Risk is lower.", "The risk was not reduced less than before; it is lower."),
        ("不仅如此，压力升高。", "压力升高。"),
        ("Notable pumps run in Norway.", "Notable pumps run in Norway."),
        ("", ""),
    ],
)
def test_what_is_not_contrary(said: str, source: str) -> None:
    assert not contradicts(said, source)


@given(st.text(max_size=400))
def test_clauses_lose_no_word(text: str) -> None:
    parts = clauses(text)
    assert 1 <= len(parts) <= MOST
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_clauses_of_a_very_long_sentence_take_no_time() -> None:
    assert clauses(text := "and pumps run while valves close, " * 20_000) == [text]
