"""The cross-encoder against the model's own logits, on a tiny model that is built here."""

from pathlib import Path

import pytest

from citemesh.errors import PreconditionFailed
from citemesh.models.prepared import Kind, Pooling, PreparedModel
from tests.contract.reranker_engines import build_tiny_cross_encoder

pytestmark = pytest.mark.real

TEXTS = ["Paris is in France.", "abc", "法国的首都是巴黎", "x" * 1000, "abc", "Berlin 1989?"]


def prepared(directory: Path) -> PreparedModel:
    return PreparedModel("tiny", Kind.CROSS_ENCODER, "", "", 32, 128, Pooling.CLS, "", "", directory)


@pytest.mark.parametrize("labels", [["relevance"], ["LABEL_0", "LABEL_1"], ["contradiction", "neutral", "Entailment"]])
def test_scores_are_the_models_own(tmp_path: Path, labels: list[str]) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from services.reranker.engines.cross_encoder import CrossEncoderEngine

    build_tiny_cross_encoder(tmp_path / "tiny", labels)
    engine = CrossEncoderEngine(lambda: prepared(tmp_path / "tiny"))
    engine.load()
    scores = engine.relevance("Where is Paris?", TEXTS, lambda: True)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "tiny").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "tiny")
    for text, score in zip(TEXTS, scores, strict=True):
        inputs = tokenizer("Where is Paris?", text, truncation=True, max_length=128, return_tensors="pt")
        with torch.inference_mode():
            logits = model(**inputs).logits[0]
        own = torch.sigmoid(logits[0]) if len(labels) == 1 else torch.softmax(logits, -1)[-1]
        assert score == pytest.approx(float(own), abs=1e-4)


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

    with pytest.raises(PreconditionFailed, match="CITEMESH_RERANKER_MODEL"):
        CrossEncoderEngine(lambda: prepared(tmp_path)).load()
