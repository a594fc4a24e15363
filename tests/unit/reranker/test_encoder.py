"""Token vectors from a tiny embedding model that is built here."""

import json
from pathlib import Path

import numpy as np
import pytest

from citemesh.errors import DeadlineExceeded, PreconditionFailed
from tests.contract.reranker.reranker_engines import build_tiny_cross_encoder

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tiny"
    build_tiny_cross_encoder(path, labels=["only"], max_positions=32)
    return path


def forever() -> bool:
    return True


def test_every_token_has_a_unit_vector_and_a_place(directory: Path) -> None:
    from services.reranker.token_vectors.encoder import TokenEncoder

    encoder = TokenEncoder(directory, 32)
    [(number, encoded)] = encoder.encode(["法国 ab"], "q ", forever)
    assert number == 0
    assert encoded.places.tolist() == [0, 1, 3, 4]
    assert np.linalg.norm(encoded.vectors.astype(np.float32), axis=1) == pytest.approx(1, abs=1e-2)
    assert encoded.vectors.dtype == np.float16


def test_long_texts_are_encoded_piece_by_piece_and_whole(directory: Path) -> None:
    from services.reranker.token_vectors.encoder import TokenEncoder

    encoder = TokenEncoder(directory, 32)
    texts = ["ab " * 500, "", "x", "b" * 29, "b" * 30]
    encoded = dict(encoder.encode(texts, "q ", forever))
    assert sorted(encoded) == [0, 1, 2, 3, 4]
    assert len(encoded[0].ids) == 1000
    assert encoded[0].places.tolist() == [place for place in range(1500) if place % 3 < 2]
    assert encoded[1].vectors.tolist() == [[0] * 32]
    alone = dict(encoder.encode(["ab " * 500], "q ", forever))[0]
    assert np.abs(alone.vectors.astype(np.float32) - encoded[0].vectors.astype(np.float32)).max() < 0.05


def test_padding_changes_nothing(directory: Path) -> None:
    from services.reranker.token_vectors.encoder import TokenEncoder

    encoder = TokenEncoder(directory, 32)
    together = dict(encoder.encode(["ab", "a" * 20], "", forever))
    alone = dict(encoder.encode(["ab"], "", forever))
    assert np.abs(together[0].vectors.astype(np.float32) - alone[0].vectors.astype(np.float32)).max() < 0.05


def test_special_tokens_in_a_text_are_text(directory: Path) -> None:
    from services.reranker.token_vectors.encoder import TokenEncoder

    encoder = TokenEncoder(directory, 32)
    special = json.loads((directory / "tokenizer.json").read_text())["model"]["vocab"]["[SEP]"]
    assert special not in encoder.tokens(["a [SEP] b"])[0]


def test_fewer_layers_give_other_vectors_without_the_projection(directory: Path) -> None:
    from services.reranker.token_vectors.encoder import PROJECTION, TokenEncoder

    np.save(directory / PROJECTION, np.eye(32, 8, dtype=np.float32))
    uncut, cut = TokenEncoder(directory, 32), TokenEncoder(directory, 32, layers=1)
    assert (uncut.dimensions, cut.dimensions) == (8, 32)
    assert next(iter(uncut.encode(["ab"], "", forever)))[1].vectors.shape == (2, 8)
    assert next(iter(cut.encode(["ab"], "", forever)))[1].vectors.shape == (2, 32)


def test_it_stops_between_batches(directory: Path) -> None:
    from services.reranker.token_vectors.encoder import TokenEncoder

    calls = []

    def once() -> bool:
        calls.append(1)
        return len(calls) < 2

    with pytest.raises(DeadlineExceeded):
        list(TokenEncoder(directory, 32).encode(["ab " * 5000], "", once))
    assert len(calls) == 2


def test_a_missing_model_says_what_to_do(tmp_path: Path) -> None:
    from services.reranker.token_vectors.encoder import TokenEncoder

    with pytest.raises(PreconditionFailed, match="CITEMESH_RERANKER_MODEL"):
        TokenEncoder(tmp_path, 512)
