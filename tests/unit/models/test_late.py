"""The late-interaction projection: the mathematics, and the sample it is computed from."""

import numpy as np
import pytest

from citemesh.models import Kind, Pooling
from citemesh.models.conversion.late import DIMENSION, projection_of, sample_texts, unit
from citemesh.models.prepared import Facts


def _facts(query: str, passage: str) -> Facts:
    return Facts("m", Kind.EMBEDDING, "", "", 384, 512, Pooling.MEAN, query, passage)


@pytest.mark.parametrize("hidden", [32, 128, 384])
def test_columns_are_orthonormal_and_at_most_128(hidden: int) -> None:
    vectors = unit(np.random.default_rng(0).normal(size=(500, hidden)))
    projection = projection_of(vectors)
    assert projection.shape == (hidden, min(hidden, DIMENSION))
    assert projection.dtype == np.float32
    np.testing.assert_allclose(projection.T @ projection, np.eye(projection.shape[1]), atol=1e-5)


def test_vectors_within_128_directions_keep_their_dot_products() -> None:
    random = np.random.default_rng(1)
    vectors = unit(random.normal(size=(400, 100)) @ random.normal(size=(100, 384)))
    reduced = vectors @ projection_of(vectors)
    np.testing.assert_allclose(reduced @ reduced.T, vectors @ vectors.T, atol=1e-4)


def test_equal_input_gives_equal_output_whatever_its_order() -> None:
    vectors = unit(np.random.default_rng(2).normal(size=(300, 64)))
    np.testing.assert_array_equal(projection_of(vectors), projection_of(vectors))
    np.testing.assert_allclose(projection_of(vectors), projection_of(vectors[::-1]), atol=1e-5)


def test_zero_vector_stays_zero() -> None:
    assert not unit(np.zeros((2, 4), np.float32)).any()


def test_sample_is_taken_in_every_role() -> None:
    plain = sample_texts(_facts("", ""))
    both = sample_texts(_facts("query: ", "passage: "))
    assert len(both) == 2 * len(plain)
    assert all(text.startswith(("query: ", "passage: ")) for text in both)
    assert any("春天" in text for text in plain)
    assert all(text.strip() for text in plain)
