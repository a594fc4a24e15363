"""Token vectors from the search to the reranker: of passages, of sources, of their sentences."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from citemesh.client.types import Candidate, Location, Passage, Source, Span
from citemesh.models.tokens.token_vectors import pack, unpack
from citemesh.models.tokens.vector_layout import cut
from gateway.query.pack.token_vectors import SourceVectors, bounded

TEXT = "北京是首都。 It is   large. 😀"


def packed(text: str) -> bytes:
    """One vector a character; which dimension is 1 tells the place."""
    return pack(len(text), np.arange(len(text)), np.eye(64, dtype=np.float32)[np.arange(len(text)) % 64])


def passage(text: str = TEXT, vectors: bytes = packed(TEXT), chunk: str = "c") -> Passage:
    location = Location(Span(7, 7 + len(text)))
    return Passage(
        chunk, "d", "col", "", "", location, text, (), "", 0.5, token_vectors=vectors, token_vectors_digest="m"
    )


def source(text: str = TEXT) -> Source:
    return Source(1, "c", "d", "col", "", "", Location(Span(7, 7 + len(text))), text, 0.5)


def test_a_source_takes_its_passages_vectors_along() -> None:
    vectors = SourceVectors.of([passage()])
    made = vectors.candidate("0", source())
    assert (made.text, made.token_vectors, made.token_vectors_digest) == (TEXT, packed(TEXT), "m")


def test_a_shortened_source_and_a_sentence_take_their_part() -> None:
    vectors = SourceVectors.of([passage()])
    short = vectors.candidate("0", source(TEXT[:6]))
    assert unpack(short.token_vectors, 6).vectors.argmax(axis=1).tolist() == [0, 1, 2, 3, 4, 5]
    sentence = vectors.candidate("1", source(), Span(7, 19), "It is large.")
    found = unpack(sentence.token_vectors, 12)
    assert found.vectors.argmax(axis=1).tolist() == list(range(7, 19))
    assert found.places.max() == 11


def test_other_layouts_other_chunks_and_none_leave_the_reading_to_the_reranker() -> None:
    for some in ([], [passage(vectors=b"")], [passage(vectors=b"newer layout than this")], [passage(chunk="other")]):
        assert SourceVectors.of(some).candidate("0", source()) == Candidate("0", TEXT)


def test_a_request_is_bounded_in_bytes() -> None:
    some = [Candidate(str(n), "t", 0.5, b"x" * 10, "m") for n in range(5)]
    kept = bounded(some, 25)
    assert [len(it.token_vectors) for it in kept] == [10, 10, 0, 0, 0]
    assert [replace(it, token_vectors=b"x" * 10, token_vectors_digest="m") for it in kept] == some
    assert [it.token_vectors_digest for it in kept] == ["m", "m", "", "", ""]


@given(text=st.text(min_size=1, max_size=60), bounds=st.tuples(st.integers(0, 60), st.integers(0, 60)))
def test_any_cut_is_of_its_stretch(text: str, bounds: tuple[int, int]) -> None:
    start, end = min(*bounds, len(text)), min(max(bounds), len(text))
    found = unpack(cut(packed(text), start, end), end - start)
    assert found.places.tolist() == list(range(end - start))
    assert found.vectors.argmax(axis=1).tolist() == list(range(start, end))
