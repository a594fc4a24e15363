"""The 4-bit file of multilingual-e5-small, on a small file of the same layout."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from citemesh.errors import DataLoss
from citemesh.models.conversion import e5
from citemesh.models.conversion.e5_tokenizer import Vocabulary, build_tokenizer
from citemesh.models.progress import silent
from tests.unit.models.builders import HIDDEN, INNER, LAYERS, PIECES, VOCABULARY, E5File


@pytest.fixture
def file(tmp_path: Path) -> tuple[E5File, Path]:
    written = E5File()
    path = tmp_path / "small.bin"
    path.write_bytes(written.content())
    return written, path


def test_every_tensor_comes_back_exactly(file: tuple[E5File, Path], tmp_path: Path) -> None:
    written, path = file
    e5.convert(path, tmp_path, silent)
    state = load_file(tmp_path / "model.safetensors")
    assert len(state) == len(written.values)
    pairs = {
        "embeddings.word_embeddings.weight": "emb.word",
        "embeddings.LayerNorm.bias": "emb.ln.b",
        "encoder.layer.1.attention.self.query.weight": "l1.q.w",
        "encoder.layer.0.attention.output.LayerNorm.weight": "l0.aln.w",
        "encoder.layer.1.intermediate.dense.weight": "l1.fi.w",
        "encoder.layer.1.output.dense.weight": "l1.fo.w",
        "encoder.layer.1.output.LayerNorm.bias": "l1.oln.b",
    }
    for ours, theirs in pairs.items():
        np.testing.assert_array_equal(state[ours], written.values[theirs])
    assert all(values.dtype == np.float32 for values in state.values())


def test_configuration_states_the_shape(file: tuple[E5File, Path], tmp_path: Path) -> None:
    e5.convert(file[1], tmp_path, silent)
    config = json.loads((tmp_path / "config.json").read_text())
    assert (config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]) == (HIDDEN, INNER, LAYERS)
    assert (config["vocab_size"], config["pad_token_id"], config["hidden_act"]) == (VOCABULARY, 1, "gelu")


def test_tokenizer_is_fast_open_and_frames_the_text(file: tuple[E5File, Path], tmp_path: Path) -> None:
    e5.convert(file[1], tmp_path, silent)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert tokenizer.truncation is None
    assert tokenizer.padding is None
    assert tokenizer.encode("a b").tokens == ["<s>", "▁a", "▁b", "</s>"]
    assert len(tokenizer.encode("a " * 3000).ids) == 3002


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    scores = [-float(place) for place in range(len(PIECES))]
    return build_tokenizer(Vocabulary(PIECES, scores, begin=0, end=2, padding=1, unknown=3))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("你好～", ["▁你", "好", "～"]),  # NFKC alone would make it an ASCII tilde
        ("a\u200bb", ["▁a", "▁b"]),  # without width, yet it parts words
        ("a\x07b", ["▁a", "b"]),  # control characters vanish
        (" \t\na \u3000 b\r\n", ["▁a", "▁b"]),
        ("ａ", ["▁a"]),  # full width folds
        ("", []),
        (" \n ", []),
    ],
)
def test_normalisation(tokenizer: Tokenizer, text: str, tokens: list[str]) -> None:
    assert tokenizer.encode(text, add_special_tokens=False).tokens == tokens


def test_unknown_and_pairs(tokenizer: Tokenizer) -> None:
    assert 3 in tokenizer.encode("😀").ids
    assert tokenizer.encode("a", "b").tokens == ["<s>", "▁a", "</s>", "</s>", "▁b", "</s>"]


@pytest.mark.parametrize("kept", [0, 3, 10, 60, 200])
def test_file_cut_short_is_data_loss(file: tuple[E5File, Path], kept: int) -> None:
    path = file[1]
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataLoss, match="reinstall"):
        e5.read(path)


def test_tensors_cut_short_are_data_loss(file: tuple[E5File, Path], tmp_path: Path) -> None:
    path = file[1]
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(DataLoss, match="part of one"):
        e5.convert(path, tmp_path, silent)
