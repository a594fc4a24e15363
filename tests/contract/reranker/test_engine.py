"""What every reranker engine promises: the fake, late interaction, and a cross-encoder."""

import math
import re
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citemesh.errors import DeadlineExceeded
from services.reranker.engine import PassageSupport, RerankerEngine
from tests.contract.reranker.reranker_engines import ALL, SENSIBLE, make_engine

MODELS = Path("~/.cache/citemesh/models").expanduser()
FRANCE = "Paris is the capital of France. It lies on the Seine. About 2.1 million people live there."
BERLIN = "Berlin is the capital of Germany. The wall fell in 1989."
CHINA = "北京是中国的首都。长城很长。人口约两千一百八十九万。"
NOODLES = "Boil the noodles for nine minutes and drain them well."
TEXTS = [NOODLES, FRANCE, CHINA, BERLIN]
CJK = "\u2e80-\u30ff\u31f0-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
ODD = ["😀🎉👩‍👩‍👧", "x", "?", "   ", "\x00\x07", "\ud800 lone", "a" * 8192, "字" * 8192, "🎉" * 8192, "1"]


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RerankerEngine:
    return make_engine(request.param, tmp_path_factory.mktemp("engine"), MODELS)


def forever() -> bool:
    return True


CJK = "\u2e80-\u30ff\u31f0-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"


def shares_content(sentence: str, stretch: str) -> bool:
    """Words, numbers or CJK characters in common, looked at apart from the engine's own code."""
    common = []
    for text in (sentence, stretch):
        plain = unicodedata.normalize("NFKC", text).casefold()
        ways = plain, re.sub(r"(?<=\d),(?=\d)", "", plain)  # a comma groups digits, or parts two numbers: "A0,0"
        common.append({part for way in ways for part in re.findall(rf"\d+|[{CJK}]|(?:(?![{CJK}])[^\W\d_])+", way)})
    return bool(common[0] & common[1])


def check(supports_by_sentence: list[list[PassageSupport]], sentences: list[str], texts: list[str]) -> None:
    assert len(supports_by_sentence) == len(sentences)
    for sentence, supports in zip(sentences, supports_by_sentence, strict=True):
        assert len({support.passage for support in supports}) == len(supports)
        assert [s.score for s in supports] == sorted((s.score for s in supports), reverse=True)
        for support in supports:
            assert 0 <= support.score <= 1
            assert 0 <= support.start < support.end <= len(texts[support.passage])
            assert shares_content(sentence, texts[support.passage][support.start : support.end])


def test_a_comma_groups_digits_or_parts_numbers() -> None:
    assert shares_content("0", "A0,0")
    assert shares_content("1000 bar", "1,000")
    assert not shares_content("1", "1000")


@pytest.mark.parametrize("engine", ALL, indirect=True)
class TestEveryRerankerEngine:
    def test_it_has_a_name(self, engine: RerankerEngine) -> None:
        assert engine.name

    def test_relevance_is_one_finite_score_a_text(self, engine: RerankerEngine) -> None:
        scores = engine.relevance("What is the capital of France?", TEXTS, forever)
        assert len(scores) == len(TEXTS)
        assert all(math.isfinite(score) for score in scores)

    def test_relevance_of_nothing_is_nothing(self, engine: RerankerEngine) -> None:
        assert engine.relevance("What?", [], forever) == []

    def test_equal_texts_have_equal_scores_and_order_does_not_matter(self, engine: RerankerEngine) -> None:
        scores = engine.relevance("capital", [FRANCE, NOODLES, FRANCE], forever)
        assert scores[0] == scores[2]
        turned = engine.relevance("capital", [FRANCE, FRANCE, NOODLES], forever)
        assert scores[1] == pytest.approx(turned[2], abs=2e-3)

    def test_odd_texts_are_judged(self, engine: RerankerEngine) -> None:
        for query in ["capital", "😀", "首都"]:
            scores = engine.relevance(query, ODD, forever)
            assert all(math.isfinite(score) for score in scores)

    def test_odd_sentences_and_passages_are_checked(self, engine: RerankerEngine) -> None:
        texts = [*ODD, FRANCE, FRANCE, CHINA]
        check(engine.support(ODD, texts, forever), ODD, texts)

    def test_supports_are_well_formed(self, engine: RerankerEngine) -> None:
        sentences = ["Paris is the capital of France.", "北京是中国的首都。", "Drain the noodles.", "Nothing fits."]
        check(engine.support(sentences, TEXTS, forever), sentences, TEXTS)

    def test_emoji_support_nothing(self, engine: RerankerEngine) -> None:
        assert engine.support(["😀🎉"], [FRANCE, "😀🎉"], forever) == [[]]

    def test_without_passages_nothing_is_supported(self, engine: RerankerEngine) -> None:
        assert engine.support(["Paris.", "Berlin."], [], forever) == [[], []]

    def test_it_stops_when_nobody_waits(self, engine: RerankerEngine) -> None:
        with pytest.raises(DeadlineExceeded):
            engine.relevance("a question nobody asked", ["a passage nobody read yet"], lambda: False)
        with pytest.raises(DeadlineExceeded):
            engine.support(["A sentence about passages."], ["A passage nobody read, about a sentence."], lambda: False)

    def test_threads_get_the_same_answers(self, engine: RerankerEngine) -> None:
        alone = engine.relevance("capital of France", TEXTS, forever)
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda _: engine.relevance("capital of France", TEXTS, forever), range(16)))
        assert all(scores == pytest.approx(alone, abs=1e-6) for scores in together)


@pytest.mark.parametrize("engine", SENSIBLE, indirect=True)
class TestEveryEngineThatUnderstands:
    def test_the_answering_passage_comes_first(self, engine: RerankerEngine) -> None:
        scores = engine.relevance("What is the capital of France?", TEXTS, forever)
        assert max(range(4), key=scores.__getitem__) == 1
        scores = engine.relevance("中国的首都是哪里？", TEXTS, forever)
        assert max(range(4), key=scores.__getitem__) == 2

    def test_the_supporting_sentence_is_the_span(self, engine: RerankerEngine) -> None:
        supports = engine.support(["The wall fell in 1989.", "长城很长", "The Seine flows past."], TEXTS, forever)
        spans = [TEXTS[f[0].passage][f[0].start : f[0].end] for f in supports]
        assert spans == ["The wall fell in 1989.", "长城很长。", "It lies on the Seine."]

    def test_saying_the_same_scores_higher_than_another_number_or_name(self, engine: RerankerEngine) -> None:
        sentences = ["The wall fell in 1989.", "The wall fell in 1961.", "About 2.1 million people live in Lyon."]
        same, number, name = engine.support(sentences, [BERLIN, FRANCE], forever)
        assert same[0].score > 0.5 > number[0].score
        assert name[0].score < same[0].score

    def test_what_is_not_there_is_not_supported(self, engine: RerankerEngine) -> None:
        [supports] = engine.support(["The Bank of England raised its rate to 5 percent in Germany."], TEXTS, forever)
        assert all(support.score < 0.5 for support in supports)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sentences=st.lists(st.text(min_size=1, max_size=80), min_size=1, max_size=4),
    texts=st.lists(st.text(min_size=1, max_size=200), max_size=4),
)
def test_any_text_is_taken(sentences: list[str], texts: list[str], tmp_path: Path) -> None:
    engine = make_engine("fake", tmp_path, MODELS)
    assert len(engine.relevance(sentences[0], texts, forever)) == len(texts)
    check(engine.support(sentences, texts, forever), sentences, texts)
