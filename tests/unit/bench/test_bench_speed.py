"""Parts of the bench of retrieval's speed: what it counts, makes and refuses."""

from pathlib import Path

import numpy as np
import pytest

from bench import retrieval_speed
from bench.retrieving.sets import Asked
from bench.speed import fill, peer, vectors
from bench.speed.corpora import ndcg_at_10
from bench.speed.growth import exponent
from bench.speed.lookup import LookupEncoder
from citemesh.errors import InvalidInput


def test_the_exponent_of_a_power_law_is_found() -> None:
    sizes = [10, 100, 1000]
    assert exponent(sizes, [3 * n**1.5 for n in sizes]) == pytest.approx(1.5)
    assert exponent(sizes, [7, 7, 7]) == pytest.approx(0)
    with pytest.raises(ValueError, match="two or more"):
        exponent([1], [1])


def test_made_vectors_have_length_one_and_near_neighbours(tmp_path: Path) -> None:
    made = vectors.make(2000, 7, tmp_path / "v.npy")
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    assert np.array_equal(made, vectors.make(2000, 7, tmp_path / "again.npy"))
    asked = vectors.queries(made, 7, 50)
    nearest = vectors.exact(made, asked, 10)
    near = np.einsum("qd,qd->q", asked, made[nearest[:, 0]])
    unrelated = made[:1000] @ made[1000:].T
    assert near.mean() > unrelated.mean() + 0.1
    assert 0.6 < unrelated.mean() < 0.8


def test_recall_is_the_share_of_true_neighbours() -> None:
    true = np.array([[1, 2], [3, 4]])
    assert vectors.recall(true[:, ::-1], true) == 1
    assert vectors.recall(np.array([[1, 9], [-1, -1]]), true) == 0.25


def test_a_looked_up_query_is_the_vector_of_its_number(tmp_path: Path) -> None:
    made = vectors.make(20, 7, tmp_path / "v.npy")
    encoder = LookupEncoder(tmp_path / "v.npy")
    found = encoder.embed(encoder.ids(["3", "11", "not a number"], "query"))
    assert np.array_equal(found, made[[3, 11, 0]])


def test_a_filled_document_holds_its_passages() -> None:
    made = fill.document(200, np.ones((3, 4), np.float32), np.random.default_rng(0))
    assert [int(chunk.chunk_id, 16) for chunk in made.chunks] == [200, 201, 202]
    assert [made.text[chunk.place.start : chunk.place.end] for chunk in made.chunks] == [c.text for c in made.chunks]


def test_ndcg_counts_the_rank_of_what_is_relevant() -> None:
    asked = Asked("q", frozenset({"a", "b"}))
    assert ndcg_at_10(["a", "b", "x"], asked) == pytest.approx(1)
    assert ndcg_at_10(["x"] * 10 + ["a"], asked) == 0
    assert 0 < ndcg_at_10(["x", "a"], asked) < ndcg_at_10(["a", "x"], asked) < 1


def test_its_own_arguments_are_taken_and_others_left() -> None:
    chosen, rest = retrieval_speed.chosen_of(["--quick", "--only", "index,peer", "--sizes", "5,7", "--json", "x"])
    assert (chosen.parts, chosen.sizes, rest) == (["index", "peer"], [5, 7], ["--quick", "--json", "x"])
    assert retrieval_speed.chosen_of(["--quick"])[0].sizes == retrieval_speed.SIZES[:2]
    assert retrieval_speed.chosen_of([])[0].sizes == retrieval_speed.SIZES


@pytest.mark.parametrize(("words", "field"), [(["--only", "x"], "--only"), (["--sizes", "many"], "--sizes")])
def test_wrong_arguments_are_named(words: list[str], field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        retrieval_speed.chosen_of(words)


@pytest.mark.parametrize("questions", [240, 300, 1184])
@pytest.mark.parametrize("rounds", [4, 8])
def test_turns_of_all_callers_together_ask_no_question_twice(questions: int, rounds: int) -> None:
    turns = [peer.turns_of(questions, rounds, callers) for callers in peer.CALLERS]
    assert sum(rounds * many for rounds, many in turns) <= questions
    assert all(many >= callers for (_, many), callers in zip(turns, peer.CALLERS, strict=True))
