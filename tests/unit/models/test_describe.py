"""What a transformers directory says about itself."""

import json
from pathlib import Path

import pytest

from citemesh.errors import PreconditionFailed
from citemesh.models import Kind, Pooling
from citemesh.models.describe import describe


def _directory(path: Path, **files: object) -> Path:
    names = {"pooling": "1_Pooling/config.json", "prompts": "config_sentence_transformers.json"}
    for key, content in files.items():
        file = path / names.get(key, f"{key}.json")
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        ("BertModel", Kind.EMBEDDING),
        ("LlamaForCausalLM", Kind.GENERATION),
        ("Gemma3ForConditionalGeneration", Kind.GENERATION),
        ("BertForSequenceClassification", Kind.CROSS_ENCODER),
    ],
)
def test_kind_follows_the_architecture(tmp_path: Path, architecture: str, kind: Kind) -> None:
    path = _directory(tmp_path, config={"architectures": [architecture], "hidden_size": 8})
    assert describe(path, "m").kind is kind


def test_smallest_stated_limit_wins(tmp_path: Path) -> None:
    path = _directory(
        tmp_path,
        config={"hidden_size": 8, "max_position_embeddings": 512},
        tokenizer_config={"model_max_length": 1e30},
        sentence_bert_config={"max_seq_length": 256},
    )
    assert describe(path, "m").max_tokens == 256


def test_roberta_positions_start_after_padding(tmp_path: Path) -> None:
    config = {"hidden_size": 8, "model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1}
    assert describe(_directory(tmp_path, config=config), "m").max_tokens == 512


def test_no_stated_limit_is_512(tmp_path: Path) -> None:
    assert describe(_directory(tmp_path, config={"hidden_size": 8}), "m").max_tokens == 512


def test_pooling_and_stated_prompts(tmp_path: Path) -> None:
    path = _directory(
        tmp_path,
        config={"hidden_size": 8},
        pooling={"pooling_mode_cls_token": True},
        prompts={"prompts": {"query": "问：", "document": "答："}},
    )
    facts = describe(path, "multilingual-e5-base")
    assert facts.pooling is Pooling.CLS
    assert (facts.query_prefix, facts.passage_prefix) == ("问：", "答：")


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("multilingual-e5-large", "query: "),
        ("e5-base-v2", "query: "),
        ("e5-mistral-7b-instruct", ""),
        ("bge-m3", ""),
        ("made5-small", ""),
    ],
)
def test_prefixes_of_known_families(tmp_path: Path, name: str, prefix: str) -> None:
    assert describe(_directory(tmp_path, config={"hidden_size": 8}), name).query_prefix == prefix


@pytest.mark.parametrize("content", ["{", "[1]", "{}", '{"hidden_size": "wide"}', '{"hidden_size": 0}', "\ud83d"])
def test_unusable_configuration_names_the_file(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(PreconditionFailed, match=r"config\.json"):
        describe(tmp_path, "m")
