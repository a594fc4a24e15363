"""Token vectors as bytes: there and back, and bytes from anywhere."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.models import Kind, Pooling, PreparedModel
from citemesh.models.tokens.token_vectors import digest_of, pack, unpack


def unit(tokens: int, dimensions: int, seed: int = 0) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    made = np.random.default_rng(seed).normal(size=(tokens, dimensions)).astype(np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


@given(tokens=st.integers(0, 300), dimensions=st.integers(1, 128), seed=st.integers(0, 99))
def test_vectors_come_back_nearly_and_places_exactly(tokens: int, dimensions: int, seed: int) -> None:
    vectors, places = unit(tokens, dimensions, seed), np.sort(np.random.default_rng(seed).integers(0, 999, tokens))
    packed = pack(999, places, vectors)
    assert len(packed) == 16 + tokens * (6 + dimensions)
    found = unpack(packed, 999)
    assert found.places.tolist() == places.tolist()
    assert found.vectors.shape == vectors.shape
    if tokens:
        assert float(np.abs(found.vectors - vectors).max()) < 0.006
        assert float((found.vectors * vectors).sum(axis=1).min()) > 0.995


def test_odd_vectors_are_packed() -> None:
    odd = np.array([[0, 0, 0], [1, 0, 0], [-1, 0, 0], [1e-9, -1e-9, 0]], np.float32)
    found = unpack(pack(4, np.arange(4), odd), 4).vectors
    assert np.isfinite(found).all()
    assert np.allclose(found[:3], odd[:3], atol=1e-3)


@pytest.mark.parametrize(("places", "shape"), [(3, (2, 8)), (2, (2, 0)), (2, (2, 129)), (65537, (65537, 1))], ids=str)
def test_other_shapes_are_refused(places: int, shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="places and vectors"):
        pack(9, np.zeros(places, np.int64), np.zeros(shape, np.float32))


GOOD = pack(10, np.array([1, 3, 9]), unit(3, 4))


@pytest.mark.parametrize(
    ("packed", "said"),
    [
        (b"", "too few"),
        (GOOD[:15], "too few"),
        (b"XXXX" + GOOD[4:], "layout"),
        (GOOD[:4] + b"\x02\x00" + GOOD[6:], "layout"),
        (GOOD[:6] + b"\x00\x00" + GOOD[8:], "dimensions"),
        (GOOD[:6] + b"\x81\x00" + GOOD[8:], "dimensions"),
        (GOOD[:8] + b"\xff\xff\xff\xff" + GOOD[12:], "vectors of"),
        (GOOD[:-1], "another size"),
        (GOOD + b"\x00", "another size"),
        (pack(11, np.array([1]), unit(1, 4)), "a text of 11 characters"),
        (pack(10, np.array([10]), unit(1, 4)), "places"),
        (pack(10, np.array([5, 4]), unit(2, 4)), "places"),
        (GOOD[:28] + b"\x00\x7c" + GOOD[30:], "scale"),
        (GOOD[:28] + b"\x00\xbc" + GOOD[30:], "scale"),
    ],
)
def test_bytes_that_are_not_right_say_what_is_wrong(packed: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        unpack(packed, 10)


@given(noise=st.binary(max_size=64), cut=st.integers(0, len(GOOD)))
def test_any_bytes_are_refused_or_fit_the_text(noise: bytes, cut: int) -> None:
    for packed in (noise, GOOD[:cut] + noise, GOOD[:cut] + noise + GOOD[cut + len(noise) :]):
        try:
            found = unpack(packed, 10)
        except ValueError:
            continue
        assert len(found.places) == len(found.vectors)
        assert all(0 <= place < 10 for place in found.places)
        assert np.isfinite(found.vectors).all()


def test_the_digest_is_of_what_decides_the_vectors(tmp_path: Path) -> None:
    def model(digest: str = "d", query: str = "q", directory: Path = tmp_path) -> PreparedModel:
        return PreparedModel("m", Kind.EMBEDDING, digest, "MIT", 8, 64, Pooling.MEAN, query, "p", directory)

    whole = digest_of(model())
    np.save(model().late_projection, np.eye(8, 4, dtype=np.float32))
    made = {whole, digest_of(model()), digest_of(model("e")), digest_of(model(query="x")), digest_of(model(), 2)}
    assert len(made) == 5
    assert digest_of(model()) in made
    assert all(len(digest) == 64 for digest in made)
