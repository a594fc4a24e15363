"""The cross-encoder against the model's own logits, on a tiny model that is built here."""

from pathlib import Path

import pytest

from citemesh.errors import PreconditionFailed
from citemesh.models.prepared import Kind, Pooling, PreparedModel
from services.reranker.engines.pairs import BATCH_TOKENS, batches_by_length
from tests.contract.reranker.reranker_engines import cross_encoder

pytestmark = pytest.mark.real

TEXTS = ["Paris is in France.", "abc", "法国的首都是巴黎", "x" * 1000, "abc", "Berlin 1989?"]


def prepared(directory: Path) -> PreparedModel:
    return PreparedModel("tiny", Kind.CROSS_ENCODER, "", "", 32, 128, Pooling.CLS, "", "", directory)


@pytest.mark.parametrize(
    ("onnx", "labels"),
    [
        (False, ["relevance"]),
        (False, ["LABEL_0", "LABEL_1"]),
        (False, ["contradiction", "neutral", "Entailment"]),
        (True, ["contradiction", "neutral", "Entailment"]),
    ],
)
def test_scores_are_the_models_own(tmp_path: Path, onnx: bool, labels: list[str]) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    engine = cross_encoder(tmp_path, onnx, labels)
    engine.load()
    scores = engine.relevance("Where is Paris?", TEXTS, lambda: True)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "tiny").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "tiny")
    for text, score in zip(TEXTS, scores, strict=True):
        inputs = tokenizer("Where is Paris?", text, truncation=True, max_length=128, return_tensors="pt")
        with torch.inference_mode():
            logits = model(**inputs).logits[0]
        probability = torch.sigmoid(logits[0]) if len(labels) == 1 else torch.softmax(logits, -1)[-1]
        assert score == pytest.approx(float(probability), abs=1e-4)


@pytest.mark.parametrize(
    ("labels", "index"),
    [
        ({0: "x"}, 0),
        ({0: "entailment", 1: "not_entailment"}, 0),
        ({0: "LABEL_0", 1: "LABEL_1"}, 1),
        ({0: "REFUTES", 1: "NEI", 2: "SUPPORTS"}, 2),
    ],
)
def test_the_positive_label(labels: dict[int, str], index: int) -> None:
    from services.reranker.engines.cross_encoder import positive_label

    assert positive_label(labels) == index


@pytest.mark.parametrize("labels", [{0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}, {0: "cat", 1: "dog"}])
def test_labels_that_say_nothing_are_refused(labels: dict[int, str]) -> None:
    from services.reranker.engines.cross_encoder import positive_label

    with pytest.raises(PreconditionFailed, match="id2label"):
        positive_label(labels)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    from services.reranker.engines.cross_encoder import CrossEncoderEngine
    from services.reranker.engines.torch_pairs import TorchPairs

    with pytest.raises(PreconditionFailed, match="CITEMESH_RERANKER_MODEL"):
        CrossEncoderEngine(lambda: prepared(tmp_path), lambda model: TorchPairs(model, 1, "cpu")).load()


def test_batches_are_bounded_by_their_padded_tokens() -> None:
    lengths = [3, 500, 7, 512, 4, 90, 0, *([100] * 50)]
    batches = list(batches_by_length(lengths))
    assert sorted(number for batch in batches for number in batch) == list(range(len(lengths)))
    assert all(len(batch) * max(lengths[number] for number in batch) <= BATCH_TOKENS for batch in batches)
    assert len(batches) < 8
    assert list(batches_by_length([])) == []
    assert [len(batch) for batch in batches_by_length([BATCH_TOKENS + 1, BATCH_TOKENS + 1, 1])] == [1, 1, 1]


def test_control_tokens_in_a_text_are_text(tmp_path: Path) -> None:
    engine = cross_encoder(tmp_path, onnx=False)
    engine.load()
    plain, spelled = engine.relevance("ab", ["a [SEP] b", "a b"], lambda: True)
    assert plain != pytest.approx(spelled, abs=1e-6)
    [batch] = engine._tokenizer.batches([("ab", "a [SEP] b [PAD]")], 0)  # type: ignore[attr-defined]  # its own part
    separator = int(batch.ids[0, -1])
    assert batch.ids[0].tolist().count(separator) == 2, "between the two texts and at the end, no more"


def test_scores_that_are_no_numbers_are_the_models_fault(tmp_path: Path) -> None:
    import numpy as np

    engine = cross_encoder(tmp_path, onnx=False)
    engine.load()
    engine._network.logits = lambda batch: np.full((len(batch.numbers), 2), np.nan, np.float32)  # type: ignore[attr-defined]  # its own part
    with pytest.raises(PreconditionFailed, match="no numbers"):
        engine.relevance("q", ["a"], lambda: True)
