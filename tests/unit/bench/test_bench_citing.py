"""Which citations a bench calls right, on hand-made answers."""

import random
from dataclasses import asdict
from pathlib import Path

import pytest

from bench import evaluated
from bench.citing import question_files, told
from bench.citing.answers import states
from bench.citing.labelled import named, xquad
from bench.citing.lines import Lines, digest
from bench.citing.told import One
from bench.citing.ways import Cited, checked, cited_of, claims_of, marked
from bench.reranking import data
from bench.retrieving.sets import SETS
from citemesh.client.types import Candidate, Location, Source, Span, Support
from citemesh.errors import PreconditionFailed
from citemesh.evaluation import questions
from gateway.query.pack.token_vectors import SourceVectors

PLACE = Location(Span(0, 20))
SOURCES = [
    Source(n, f"c{n}", f"d{n}", "default", "", "", PLACE, text, 0.5)
    for n, text in ((1, "The pump runs at 40 bar."), (2, "Whales live in the sea."))
]


class Finder:
    """Supports a sentence by every passage that holds its last word."""

    async def attribute(
        self, sentences: list[str], passages: list[Candidate], max_support: int = 3
    ) -> tuple[tuple[Support, ...], ...]:
        return tuple(
            tuple(Support(p.id, 0.9, Span(0, 8), s.split()[-1].strip(".") in p.text) for p in passages)
            for s in sentences
        )


def test_markers_are_taken_as_they_stand_and_those_of_no_source_count() -> None:
    claims = claims_of("It runs at 40 bar [2]. Whales swim. [1][7] That is all")
    assert [claim.hints for claim in claims] == [{2}, {1, 7}, frozenset()]
    assert [marked(claim, SOURCES).documents for claim in claims] == [("d2",), ("d1", ""), ()]


async def test_the_check_cites_what_supports_whatever_the_markers_say() -> None:
    claims = claims_of("It runs at 40 bar [2]. Nothing is known.")
    found = await checked(claims, SOURCES, Finder(), SourceVectors())  # type: ignore[arg-type]  # it never ranks
    assert [one.documents for one in found] == [("d1",), ()]


def test_precision_is_of_citations_and_recall_of_sentences() -> None:
    ones = [One(2, 1), One(0, 0), One(1, 1), One(1, 0)]
    assert (told.precision(ones), told.recall(ones), told.supported(ones)) == (0.5, 0.5, 0.75)
    assert told.precision([One(0, 0)]) == 0.0
    better = told.apart([One(1, 1)] * 9, [One(1, 0)] * 9, told.precision, 1)
    assert (better.value, better.low, better.high) == (1.0, 1.0, 1.0)


def test_a_sentence_states_an_answer_only_with_all_its_words_in_order() -> None:
    assert states("It runs at 40 bar, they say.", ("forty", "40 bar"))
    assert not states("The bar opens at 40.", ("40 bar",))
    assert not states("Anything", ("", "the"))


def test_what_was_done_outlives_its_run(tmp_path: Path) -> None:
    found = Cited(("d1", ""), (("d1", 3, 9, 0.75),))
    Lines(tmp_path / "kept.jsonl").put(digest("it", 1), {"both": asdict(found)})
    again = Lines(tmp_path / "kept.jsonl")
    assert cited_of(again.get(digest("it", 1))["both"]) == found
    assert again.get(digest("it", 2)) is None and Lines(None).get("x") is None


def test_labels_name_documents_that_are_there() -> None:
    try:
        data.folder()
    except PreconditionFailed:
        pytest.skip("no evaluation data here")
    one = xquad("en", 4, 3, random.Random(1))
    texts = {document.id: document.text for document in one.documents}
    assert len(one.asked) == 3 and all(any(a in texts[it.document] for a in it.answers) for it in one.asked)
    assert {said.true for said in one.said} == {True, False}
    for said in one.said:
        assert said.own in texts and said.documents == ({said.own} if said.true else set())
    assert all(named(text) == id for id, text in texts.items())


@pytest.mark.parametrize("name", ["xquad-zh", "multihop"])
def test_a_set_is_written_as_questions_that_eval_reads(tmp_path: Path, name: str) -> None:
    try:
        data.folder()
    except PreconditionFailed:
        pytest.skip("no evaluation data here")
    file = tmp_path / "set.jsonl"
    assert question_files.main([name, "7", str(file)]) == 0
    read = questions.read(file)
    ids = {document.id for document in SETS[name]().documents}
    assert len(read) == 7 and all(one.answers and one.evidence for one in read)
    assert {evidence.document_id for one in read for evidence in one.evidence} <= ids


def test_the_second_run_is_compared_with_the_first_once_that_is_there(tmp_path: Path) -> None:
    options = evaluated.Options(tmp_path, None, ["xquad-en"], 3)
    try:
        data.folder()
    except PreconditionFailed:
        pytest.skip("no evaluation data here")
    assert "--compare" not in evaluated.command(options, "xquad-en", "c", 2, "host:1", "key")
    options.file("xquad-en", 1, "json").write_text("{}")
    words = evaluated.command(options, "xquad-en", "c", 2, "host:1", "key")
    assert words[words.index("--compare") + 1] == str(tmp_path / "xquad-en-hops-1.json")
    assert len(questions.read(Path(words[4]))) == 3


def test_what_was_kept_survives_a_run_that_was_ended_while_it_wrote(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    Lines(file).put("one", "two\u2028lines\u0085 of 中文")
    with file.open("a", encoding="utf-8") as broken:
        broken.write('["two", "hal')
    again = Lines(file)
    assert again.get("one") == "two\u2028lines\u0085 of 中文" and again.get("two") is None
    again.put("two", 2)
    assert Lines(file).get("two") == 2
